// SPDX-License-Identifier: BSD-3-Clause
#include "demo_report.hpp"

#include "common/pool_request.hpp"

#include <mrzone/host.hpp>

namespace mrz::app {
namespace {

Json to_json(const Measurement& measured)
{
    const Plan& plan = measured.memory_region;
    const PlannedKey& key = plan.keys.front();
    return {
        {"mtt_entries", plan.mtt_entries()},
        {"page_shift", key.page_shift.value()},
        {"extents", measured.extents},
        {"build_ms", measured.build_ms},
        {"iova", format_hex(key.iova.value())},
        {"length", key.length},
        {"limit",
         {{"term", to_string(plan.limit.term)}, {"bit", plan.limit.bit}, {"at", format_hex(plan.limit.at.value())}}},
        {"umem",
         {{"mtt_entries", measured.umem.mtt_entries()},
          {"page_shift", measured.umem.keys.front().page_shift.value()}}},
        {"frames_known", measured.frames_known}};
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many)
{
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string paragraph(std::string_view title, const Measurement& measured)
{
    return fmt::format("{}\n"
                       "  memory      {}, ready after {:.1f} ms\n"
                       "  ibv_reg_mr  {}\n"
                       "  umem        {}\n",
                       title, counted(measured.extents, "extent", "extents"), measured.build_ms,
                       measured.memory_region.explain(), measured.umem.explain());
}

std::string closing_line(const DemoReport& report)
{
    const std::uint64_t dpdk = report.dpdk.memory_region.mtt_entries();
    const std::uint64_t arena = report.arena.memory_region.mtt_entries();
    const std::string counts = fmt::format("{} in an arena, {} through plain DPDK",
                                           counted(arena, "translation entry", "translation entries"), dpdk);
    const std::string size = format_size(report.size);
    if (dpdk == arena)
        return fmt::format("{}: {}, the same.\n", size, counts);
    return fmt::format("{}: {}: {:.4g} times {}.\n", size, counts,
                       dpdk > arena ? static_cast<double>(dpdk) / static_cast<double>(arena)
                                    : static_cast<double>(arena) / static_cast<double>(dpdk),
                       dpdk > arena ? "fewer" : "more");
}

} // namespace

Json to_json(const DemoReport& report)
{
    return {{"schema", json_schema},         {"size", report.size},
            {"page_size", report.page_size}, {"eal_iova_mode", report.eal_iova_mode},
            {"iommu", report.iommu},         {"arena", to_json(report.arena)},
            {"dpdk", to_json(report.dpdk)}};
}

std::string to_text(const DemoReport& report)
{
    std::string text = fmt::format("{} of {}, one key over all of it (EAL IOVA mode {})\n\n",
                                   format_size(report.size), pool_name(report.page_size, {}), report.eal_iova_mode);
    text += paragraph("Plain DPDK: a memzone of the EAL's own memory", report.dpdk) + "\n";
    text += paragraph("mrzone: a zone of an arena", report.arena) + "\n";
    const std::uint64_t largest = host::max_registration_shift().bytes();
    const std::uint64_t least = report.size / largest + (report.size % largest != 0);
    if (!report.arena.frames_known || !report.dpdk.frames_known)
        text +=
            "The pages' frames are hidden from this user (CAP_SYS_ADMIN shows them), so nothing could be arranged,\n"
            "and these are the entries that the pages' size promises. Run it as root to see the difference.\n";
    else if (report.arena.memory_region.mtt_entries() > least)
        text +=
            "The free pages are fragmented: no choice and order of those that were looked at gives one key fewer.\n";
    if (report.translating)
        text += "The IOMMU translates, so a device sees other addresses than these frames: behind it the counts may "
                "differ.\n";
    return text + closing_line(report);
}

} // namespace mrz::app

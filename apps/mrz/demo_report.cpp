// SPDX-License-Identifier: BSD-3-Clause
#include "demo_report.hpp"

#include "common/fields.hpp"
#include "common/pool_request.hpp"

#include <mrzone/host.hpp>

namespace mrz::app {
namespace {

Json to_json(const std::optional<CacheUse>& use)
{
    if (!use)
        return nullptr;
    return {{"reads", use->reads}, {"hits", use->hits}, {"misses", use->misses}};
}

Json to_json(const ArenaPhases& phases)
{
    return {{"pages", phases.pages.count()}, {"frames", phases.frames.count()}, {"place", phases.place.count()},
            {"pin", phases.pin.count()},     {"tables", phases.tables.count()}, {"heap", phases.heap.count()}};
}

Json to_json(const std::vector<Refused>& refused)
{
    Json list = Json::array();
    for (const Refused& one : refused)
        list.push_back({{"case", one.attempt}, {"status", to_string(one.status)}});
    return list;
}

Json to_json(const PlainUse& plain)
{
    return {{"size", plain.size},
            {"mtt_entries", plain.plan.mtt_entries()},
            {"page_shift", plain.plan.keys.front().page_shift.value()},
            {"cache", to_json(plain.cache)}};
}

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
        {"frames_known", measured.frames_known},
        {"built_entries", measured.built_entries ? Json(*measured.built_entries) : Json()},
        {"cache", to_json(measured.cache)}};
}

double milliseconds(std::chrono::nanoseconds time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

std::string cache_line(const std::optional<CacheUse>& use)
{
    if (!use)
        return "  cache       the device does not tell\n";
    return fmt::format("  cache       {} random reads of 64 bytes: {} hits, {} misses, {:.4f} misses each\n",
                       use->reads, use->hits, use->misses,
                       static_cast<double>(use->misses) / static_cast<double>(use->reads));
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
                       "  umem        {}\n"
                       "{}",
                       title, counted(measured.extents, "extent", "extents"), measured.build_ms,
                       measured.memory_region.explain(), measured.umem.explain(), cache_line(measured.cache));
}

std::string phases_line(const ArenaPhases& phases)
{
    return fmt::format("  time        pages {:.1f} ms, frames {:.1f}, placing {:.1f}, pinning {:.1f}, tables {:.1f}, "
                       "heap {:.1f}\n",
                       milliseconds(phases.pages), milliseconds(phases.frames), milliseconds(phases.place),
                       milliseconds(phases.pin), milliseconds(phases.tables), milliseconds(phases.heap));
}

std::string plain_paragraph(const PlainUse& plain, std::size_t size)
{
    return fmt::format("Ordinary memory: {} of the smallest pages{}\n"
                       "  ibv_reg_mr  {}\n"
                       "{}",
                       format_size(plain.size), plain.size < size ? ", as much as can be spared" : "",
                       plain.plan.explain(), cache_line(plain.cache));
}

std::string traffic_paragraph(const DemoReport& report)
{
    const Traffic& traffic = report.arena.traffic;
    const double seconds = traffic.seconds > 0 ? traffic.seconds : 1;
    std::string text =
        fmt::format("Data through the zone, by device {} of driver {} ({})\n"
                    "  moved       {} writes and reads, every byte compared: {:.0f} a second, {}/s\n",
                    report.device, report.driver, report.reason, traffic.operations,
                    static_cast<double>(traffic.operations) / seconds,
                    format_size(static_cast<std::uint64_t>(static_cast<double>(traffic.bytes) / seconds)));
    for (const Refused& one : report.arena.refused)
        text += fmt::format("  refused     {}: {}\n", one.attempt, to_string(one.status));
    return text;
}

std::string closing_line(const DemoReport& report)
{
    const std::uint64_t dpdk = report.dpdk.memory_region.mtt_entries();
    const std::uint64_t arena = report.arena.memory.memory_region.mtt_entries();
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
    return {{"schema", json_schema},
            {"size", report.size},
            {"page_size", report.page_size},
            {"eal_iova_mode", report.eal_iova_mode},
            {"iommu", report.iommu},
            {"device", report.device},
            {"driver", report.driver},
            {"reason", report.reason},
            {"arena", to_json(report.arena.memory)},
            {"dpdk", to_json(report.dpdk)},
            {"plain", to_json(report.plain)},
            {"registered", to_json(fields_of(report.arena.registered))},
            {"phases_ns", to_json(report.arena.phases)},
            {"ops", report.arena.traffic.operations},
            {"bytes", report.arena.traffic.bytes},
            {"seconds", report.arena.traffic.seconds},
            {"cache", to_json(report.arena.memory.cache)},
            {"refused", to_json(report.arena.refused)}};
}

std::string to_text(const DemoReport& report)
{
    std::string text = fmt::format("{} of {}, one key over all of it (EAL IOVA mode {})\n\n",
                                   format_size(report.size), pool_name(report.page_size, {}), report.eal_iova_mode);
    text += paragraph("Plain DPDK: a memzone of the EAL's own memory", report.dpdk) + "\n";
    text += plain_paragraph(report.plain, report.size) + "\n";
    text += paragraph("mrzone: a zone of an arena", report.arena.memory) + phases_line(report.arena.phases) + "\n";
    text += traffic_paragraph(report) + "\n";
    const std::uint64_t largest = host::max_registration_shift().bytes();
    const std::uint64_t least = report.size / largest + (report.size % largest != 0);
    if (!report.arena.memory.frames_known || !report.dpdk.frames_known)
        text +=
            "The pages' frames are hidden from this user (CAP_SYS_ADMIN shows them), so nothing could be arranged,\n"
            "and these are the entries that the pages' size promises. Run it as root to see the difference.\n";
    else if (report.arena.memory.memory_region.mtt_entries() > least)
        text +=
            "The free pages are fragmented: no choice and order of those that were looked at gives one key fewer.\n";
    if (!report.frames_used)
        text += "The device's tables hold virtual addresses, so its cache tells nothing about how memory lies.\n";
    if (report.translating)
        text += "The IOMMU translates, so a device sees other addresses than these frames: behind it the counts may "
                "differ.\n";
    return text + closing_line(report);
}

} // namespace mrz::app

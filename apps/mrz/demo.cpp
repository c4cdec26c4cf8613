// SPDX-License-Identifier: BSD-3-Clause
// mrz demo: the same memory through plain DPDK and in an arena.
#include "commands.hpp"
#include "demo_measure.hpp"
#include "demo_report.hpp"

#include "common/arena_pages.hpp"
#include "common/eal.hpp"
#include "common/output.hpp"
#include "common/signals.hpp"
#include "common/size.hpp"

#include <mrzone/host.hpp>

#include <rte_eal.h>

#include <chrono>
#include <cmath>
#include <exception>
#include <memory>

namespace mrz::app {
namespace {

struct Options {
    std::string size;
    std::string page = "2M";
    std::string device = "any";
    double seconds = 2;
};

DemoReport measure(const Domain& domain, const Options& options, std::size_t size, std::size_t page_size)
{
    const Eal eal;
    throw_if_interrupted();
    const host::Iommu iommu = host::iommu();
    DemoReport report{.size = size,
                      .page_size = page_size,
                      .eal_iova_mode = rte_eal_iova_mode() == RTE_IOVA_PA ? "PA" : "VA",
                      .iommu = std::string{host::to_string(iommu)},
                      .translating = iommu == host::Iommu::translating,
                      .device = domain.name(),
                      .driver = std::string{domain.driver()},
                      .reason = domain.reason(),
                      .frames_used = domain.dma_view() == DmaView::frames,
                      .dpdk = {},
                      .plain = {},
                      .arena = {}};
    // DPDK first: it finds the pool as it is, before an arena's surplus has come back in order.
    std::exception_ptr dpdk_failure;
    try {
        report.dpdk = measure_dpdk(domain, size, page_size);
    } catch (const Error&) {
        dpdk_failure = std::current_exception();
    }
    report.arena = measure_arena(domain, size, page_size, surplus_for(size, page_size),
                                 std::chrono::duration<double>{options.seconds});
    if (dpdk_failure) // an arena that cannot be had either says more clearly why
        std::rethrow_exception(dpdk_failure);
    report.plain = measure_plain(domain, size);
    return report;
}

void demo(const Options& options, bool json)
{
    undo_what_a_kill_left();
    if (std::isnan(options.seconds)) // which the parser's range lets pass
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "the command line",
                     .limit = "--seconds is not a number",
                     .remedy = "give 0 to 3600"}};
    const std::size_t page_size = parse_size(options.page, "the page size");
    // Before pages are reserved, which is slow: a device that is not there is refused at once.
    const Domain domain = Domain::open(options.device);
    DemoReport report;
    {
        const ArenaPages pages = reserve_for_arena(options.size, page_size, "mrz demo");
        report = measure(domain, options, pages.size, page_size);
        throw_if_interrupted();
    }
    if (json)
        print_json(to_json(report));
    else
        print_text(to_text(report));
}

} // namespace

void add_demo(CLI::App& app, Invocation& invocation)
{
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand(
        "demo", "Take memory through plain DPDK and in an arena, count the translation entries of each, and move "
                "data under checked keys. Starts an EAL; enlarges the page pool for as long as it runs");
    command->add_option("--size", options->size, "How much memory (default: 1G, or what the machine can spare)");
    command->add_option("--page", options->page, "The page size")->capture_default_str();
    command->add_option("--device", options->device, "The RDMA device; any: the best there is, at last soft")
        ->capture_default_str();
    command->add_option("--seconds", options->seconds, "How long data moves")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    add_json_flag(*command, invocation);
    command->callback(
        [options, &invocation] { invocation.work = [options, &invocation] { demo(*options, invocation.json); }; });
}

} // namespace mrz::app

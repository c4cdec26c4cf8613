// SPDX-License-Identifier: BSD-3-Clause
// mrz demo: the same memory through plain DPDK and in an arena.
#include "commands.hpp"
#include "demo_measure.hpp"
#include "demo_report.hpp"

#include "common/arena_size.hpp"
#include "common/eal.hpp"
#include "common/output.hpp"
#include "common/process_limits.hpp"
#include "common/signals.hpp"
#include "common/size.hpp"
#include "common/temporary_pool.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>

#include <rte_eal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>

namespace mrz::app {
namespace {

constexpr std::size_t default_size = 1_GiB;
constexpr std::size_t smallest_size = 64_MiB;

struct Options {
    std::string size;
    std::string page = "2M";
    std::string device = "any";
    double seconds = 2;
};

//! Pages reserved for as long as the demonstration lasts.
struct Pages {
    std::size_t size = 0;
    TemporaryPool small; //!< 2-MiB pages for the arena's header and the EAL, where the block's pages are larger.
    TemporaryPool main;
};

Pages reserve(std::size_t size, std::size_t page_size, std::uint64_t pages, Effort effort)
{
    check_machine_has(size);
    check_open_files(size / page_size);
    constexpr std::uint64_t small_pages = 8;
    Pages reserved{.size = size,
                   .small =
                       TemporaryPool{Window::header_size, {}, page_size == Window::header_size ? 0 : small_pages},
                   .main = TemporaryPool{page_size, {}, pages, effort}};
    // DPDK, which comes first, would only say that it has no memory.
    Window::preflight({.size = size, .page_size = page_size});
    return reserved;
}

// As many pages again as are needed, and what an arena looks at in any case, give the placement a choice, if they can
// be had.
Pages reserve_with_choice(std::size_t size, std::size_t page_size)
{
    const std::uint64_t needed = size / page_size;
    // The header page, what the EAL takes for itself, and DPDK's own headers.
    const std::uint64_t overhead = page_size >= 1_GiB ? 2 : 16;
    try {
        const std::uint64_t choice = std::max(needed, std::uint64_t{WindowOptions::least_slack / page_size});
        return reserve(size, page_size, needed + choice + overhead, Effort::light);
    } catch (const Error& error) {
        if (error.cause().trouble != Trouble::hugepages && error.cause().trouble != Trouble::permission)
            throw;
        return reserve(size, page_size, needed + overhead, Effort::compact);
    }
}

Pages reserve_what_can_be_spared(std::size_t page_size)
{
    std::optional<Error> first;
    for (std::size_t size = std::max(default_size, page_size); size >= std::max(smallest_size, page_size);
         size /= 2) {
        throw_if_interrupted();
        try {
            Pages pages = reserve_with_choice(size, page_size);
            if (first)
                say("{}; going on with {}", first->what(), format_size(size));
            return pages;
        } catch (const Error& error) {
            const Trouble trouble = error.cause().trouble;
            if (trouble != Trouble::hugepages && trouble != Trouble::permission && trouble != Trouble::cgroup)
                throw;
            if (!first)
                first = error;
        }
    }
    throw Error{*first};
}

// The arena may look at all pages that nobody else has a claim on, but not at more than four times what it needs:
// each look zeroes a page. It always looks at some, unless at none.
unsigned slack_percent(std::size_t size, std::size_t page_size)
{
    const std::uint64_t needed = size / page_size;
    const std::uint64_t unclaimed = unclaimed_pages(page_size, {});
    const std::uint64_t spare = unclaimed > needed + 1 ? unclaimed - needed - 1 : 0;
    if (spare < WindowOptions::least_slack / page_size)
        return 0;
    return static_cast<unsigned>(std::min<std::uint64_t>(spare * 100 / needed, 400));
}

DemoReport measure(const Options& options, std::size_t size, std::size_t page_size)
{
    const Domain domain = Domain::open(options.device);
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
    report.arena = measure_arena(domain, size, page_size, slack_percent(size, page_size),
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
    DemoReport report;
    {
        std::optional<Pages> pages;
        if (options.size.empty()) {
            read_pool(page_size); // refuses a page size that this kernel lacks
            pages.emplace(reserve_what_can_be_spared(page_size));
        } else {
            const std::size_t size = parse_size(options.size, "the size");
            check_arena_size(size, page_size, "mrz demo");
            pages.emplace(reserve_with_choice(size, page_size));
        }
        report = measure(options, pages->size, page_size);
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

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-bench-storage: what a storage system gains by keeping memory registered: I/O between memory and a store over
//! a device's queue pairs, with the memory of each operation registered for it, leased from a cache, alone or in
//! batches, or in a region that is there.
#include "measure.hpp"
#include "report.hpp"

#include <common/pool_changes.hpp>
#include <common/signals.hpp>
#include <common/size.hpp>
#include <common/standard_files.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace bench::storage;
using namespace mrz::literals;

struct Options {
    std::string device = "any";
    std::vector<std::string> sizes{"4K", "16K", "64K", "256K", "1M", "2M"};
    std::vector<std::string> pages{"4K", "2M"};
    std::vector<unsigned> depths{1, 32};
    std::string memory = "256M";
    std::string cache; //!< None: half of the memory.
    unsigned operations = 20'000;
    unsigned reads = 70;
    unsigned rounds = 5;
    bool scattered = false;
    bool json = false;
};

[[noreturn]] void refuse(std::string limit, std::string remedy)
{
    throw mrz::Error{EINVAL,
                     {.trouble = mrz::Trouble::invalid,
                      .what = "the command line",
                      .limit = std::move(limit),
                      .remedy = std::move(remedy)}};
}

template <class Value>
void must_be_distinct(std::vector<Value> values, const char* option)
{
    std::ranges::sort(values);
    if (values.empty() || std::ranges::adjacent_find(values) != values.end())
        refuse(std::string{option} + " names something twice, or nothing", "name each once");
}

Settings settings_of(const Options& options)
{
    Settings settings{.device = options.device,
                      .sizes = {},
                      .depths = {options.depths.begin(), options.depths.end()},
                      .pages = {},
                      .memory = mrz::app::parse_size(options.memory, "--memory"),
                      .operations = options.operations,
                      .read_percent = options.reads,
                      .rounds = options.rounds,
                      .scattered = options.scattered};
    for (const std::string& text : options.sizes)
        settings.sizes.push_back(mrz::app::parse_size(text, "--sizes"));
    for (const std::string& text : options.pages)
        settings.pages.push_back(mrz::app::parse_size(text, "--pages") == 2_MiB ? Pages::huge : Pages::small);
    must_be_distinct(settings.sizes, "--sizes");
    must_be_distinct(settings.depths, "--depths");
    must_be_distinct(settings.pages, "--pages");
    settings.cache = options.cache.empty() ? settings.memory / 2 : mrz::app::parse_size(options.cache, "--cache");
    constexpr std::size_t most = 64_GiB; // blocks are counted in 32 bits
    if (settings.memory == 0 || settings.memory % 2_MiB != 0 || settings.memory > most)
        refuse("--memory is 2M to 64G, in whole 2M", "give " + mrz::app::size_argument(256_MiB));
    for (const std::size_t size : settings.sizes) {
        if (size < 512 || size > 1_GiB || size % 8 != 0 || settings.memory % size != 0)
            refuse("a size of an operation is 512 bytes to 1G, in whole words of 8 bytes, and divides --memory",
                   "give powers of two");
        if (settings.memory / size < 5)
            refuse("--memory is less than five blocks of " + mrz::app::size_argument(size), "give more --memory");
        // Caches round to the pages that memory has.
        const bool huge = std::ranges::find(settings.pages, Pages::huge) != settings.pages.end();
        const std::size_t under_way =
            (huge ? std::max(size, std::size_t{2_MiB}) : size) * std::ranges::max(settings.depths);
        if (settings.cache < under_way)
            throw mrz::Error{EINVAL,
                             {.trouble = mrz::Trouble::invalid,
                              .what = "the command line",
                              .limit = "--cache, in bytes, has no room for the pages of all operations under way",
                              .present = settings.cache,
                              .need = under_way,
                              .remedy = "give more --memory or --cache, smaller --sizes or less --depths"}};
    }
    return settings;
}

void run(const Options& options)
{
    const Settings settings = settings_of(options);
    mrz::app::undo_what_a_kill_left();
    const Report report = measure(settings);
    if (options.json)
        mrz::app::print_json(to_json(report));
    else
        mrz::app::print_text(to_text(report));
}

} // namespace

int main(int argc, char** argv)
{
    mrz::app::occupy_standard_files();
    mrz::app::watch_signals();
    Options options;
    CLI::App app{"I/O between memory and a store over a device's queue pairs, with memory registered for each "
                 "operation,\nand with each tier. Real pinning and pages of 2 MiB need root.",
                 "mrz-bench-storage"};
    try {
        app.add_option("--device", options.device, "The RDMA device; any: the best there is, at last soft")
            ->capture_default_str();
        app.add_option("--sizes", options.sizes, "Bytes of an operation")->delimiter(',')->capture_default_str();
        app.add_option("--depths", options.depths, "Operations under way")
            ->delimiter(',')
            ->check(CLI::Range(1, 1024))
            ->capture_default_str();
        app.add_option("--pages", options.pages, "Pages of the memory: 4K, ordinary; 2M, of an arena")
            ->delimiter(',')
            ->check(CLI::IsMember({"4K", "2M"}))
            ->capture_default_str();
        app.add_option("--memory", options.memory, "How much memory; the store is as large")->capture_default_str();
        app.add_option("--cache", options.cache, "How much of it a cache may pin (default: half of it)");
        app.add_option("--operations", options.operations, "A round has at most; fewer if they are more than 2G")
            ->check(CLI::Range(1, 10'000'000))
            ->capture_default_str();
        app.add_option("--reads", options.reads, "Percent of operations that read from the store; others write")
            ->check(CLI::Range(0, 100))
            ->capture_default_str();
        app.add_option("--rounds", options.rounds, "How often each is run")
            ->check(CLI::Range(1, 1000))
            ->capture_default_str();
        app.add_flag("--scattered", options.scattered,
                     "Hot memory is single blocks anywhere, not pieces of at least 2 MiB");
        app.add_flag("--json", options.json, "Print one JSON object");
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return mrz::app::run_and_report(false, [&] { mrz::app::print_text(app.help()); });
    } catch (const CLI::Error& error) {
        // The parser may have stopped before it came to --json.
        const bool json = std::any_of(argv + 1, argv + argc, [](std::string_view word) { return word == "--json"; });
        return mrz::app::report_error(json, EINVAL,
                                      {.trouble = mrz::Trouble::invalid,
                                       .what = "the command line",
                                       .limit = error.what(),
                                       .remedy = "see: mrz-bench-storage --help"});
    }
    return mrz::app::run_and_report(options.json, [&] { run(options); });
}

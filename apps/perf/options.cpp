// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "common/command_line.hpp"
#include "common/size.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace mrz::perf {
namespace {

//! As written, before it is known what the rest says.
struct Words {
    std::string host;
    std::string bind;
    unsigned port = 18515; // perftest's
    std::string device = "any";
    Operation operation = Operation::write;
    AtomicKind atomic = AtomicKind::fetch_and_add;
    bool latency = false;
    std::string size;
    bool all = false;
    std::uint64_t operations = 0;
    double duration = 0;
    unsigned depth = 128;
    unsigned receives = 512;
    unsigned queue_pairs = 1;
    unsigned threads = 1;
    unsigned signal_every = 1;
    unsigned inline_bytes = 0;
    bool bidirectional = false;
    bool gigabits = false;
    std::string page = "4K";
    bool arena = false;
    std::string memory;
    std::string cache;
    std::string registration = "resident";
    std::string order;
    unsigned rounds = 0;
    bool verify = false;
    bool compare_tcp = false;
    bool refusals = false;
    double timeout = 30;
    bool once = false;
    bool json = false;
    bool no_warning = false;
};

MemoryOptions memory_of(const Words& words)
{
    const MemoryOptions memory{.page_size = app::parse_size(words.page, "--page"), .arena = words.arena};
    if (memory.arena && memory.page_size == 4_KiB)
        app::refuse_command_line("an arena is of hugepages", "give --page 2M or --page 1G");
    return memory;
}

Patience patience_of(const Words& words)
{
    if (std::isnan(words.timeout))
        app::refuse_command_line("--timeout is not a number", "give 2 to 3600");
    const std::chrono::milliseconds silence{static_cast<std::int64_t>(words.timeout * 1000)};
    return {.connect = std::min(silence, std::chrono::milliseconds{10'000}), .silence = silence};
}

std::vector<std::size_t> sizes_of(const Words& words)
{
    if (words.operation == Operation::atomic) {
        if (words.all || (!words.size.empty() && app::parse_size(words.size, "--size") != 8))
            app::refuse_command_line("an atomic operation has 8 bytes", "leave --size and --all out");
        return {8};
    }
    if (words.all) {
        if (!words.size.empty())
            app::refuse_command_line("--all and --size exclude each other", "give one of them");
        std::vector<std::size_t> sizes;
        for (std::size_t size = 2; size <= 8_MiB; size *= 2)
            sizes.push_back(size);
        return sizes;
    }
    if (words.size.empty())
        return {words.latency ? std::size_t{2} : std::size_t{64_KiB}}; // perftest's
    return {app::parse_size(words.size, "--size")};
}

std::vector<TierKind> registrations_of(const std::string& word)
{
    if (word == "all")
        return {std::begin(app::all_tiers), std::end(app::all_tiers)};
    for (const TierKind one : app::all_tiers)
        if (perf::word(one) == word)
            return {one};
    app::refuse_command_line("there is no way to register \"" + word + '"',
                             "give each, temporary, batch, resident or all");
}

ClientOptions client_of(const Words& words)
{
    if (words.operations != 0 && words.duration != 0)
        app::refuse_command_line("--iters and --duration exclude each other", "give one of them");
    if (std::isnan(words.duration))
        app::refuse_command_line("--duration is not a number", "give seconds");
    ClientOptions options{.host = words.host,
                          .port = std::to_string(words.port),
                          .device = words.device,
                          .memory = memory_of(words),
                          .settings = {},
                          .sizes = sizes_of(words),
                          .registrations = registrations_of(words.registration),
                          .operations = words.operations,
                          .exactly = words.operations != 0,
                          .duration = std::chrono::milliseconds{static_cast<std::int64_t>(words.duration * 1000)},
                          .rounds = words.rounds,
                          .compare_tcp = words.compare_tcp,
                          .patience = patience_of(words)};
    if (words.operations == 0 && words.duration == 0)
        options.operations = words.latency ? 1000 : 5000; // perftest's
    const bool resident = options.registrations == std::vector{TierKind::resident};
    if (options.rounds == 0)
        options.rounds = options.registrations.size() > 1 ? 3 : 1;
    Settings& settings = options.settings;
    settings = {.operation = words.operation,
                .atomic = words.atomic,
                .latency = words.latency,
                .bidirectional = words.bidirectional,
                .verify = words.verify,
                .order = (words.order.empty() ? !resident : words.order == "hot") ? Order::hot : Order::sequential,
                .threads = words.threads,
                .queue_pairs = words.queue_pairs,
                .depth = words.depth,
                .receives = words.receives,
                .inline_bytes = words.inline_bytes,
                .signal_every = words.signal_every,
                .memory = 0,
                .largest = std::ranges::max(options.sizes),
                .cache = 0};
    const std::size_t page = options.memory.page_size;
    if (words.memory.empty()) {
        const std::size_t wanted = std::min<std::size_t>(32_MiB, 128_MiB / std::max(settings.streams(), 1U));
        settings.memory = (std::max(wanted, settings.largest) + page - 1) / page * page;
    } else {
        settings.memory = app::parse_size(words.memory, "--memory");
    }
    settings.cache = words.cache.empty() ? std::max<std::size_t>(settings.memory / 2, 4_KiB)
                                         : app::parse_size(words.cache, "--cache");
    if (words.refusals) {
        if (words.operation == Operation::send || words.latency || words.bidirectional)
            app::refuse_command_line("--refusals is for the keys of writes, reads or atomic operations",
                                     "leave the others out");
        options.refusals = true;
        options.sizes.clear();
        settings.threads = 1;
        settings.queue_pairs = refusal_lines;
        settings.largest = 8;
        settings.memory = std::max<std::size_t>(64_KiB, page);
    }
    check(settings);
    for (const std::size_t size : options.sizes)
        check({.size = size, .operations = options.operations, .duration = options.duration}, settings);
    if (options.compare_tcp && (settings.latency || settings.bidirectional || options.rounds != 1 ||
                                settings.operation == Operation::atomic))
        app::refuse_command_line(
            "--compare-tcp is for the bandwidth of writes, sends or reads in one direction and one round",
            "leave the others out");
    return options;
}

ServerOptions server_of(const Words& words)
{
    ServerOptions options{.bind = words.bind,
                          .port = std::to_string(words.port),
                          .device = words.device,
                          .memory = memory_of(words),
                          .bytes = app::parse_size(words.memory.empty() ? "256M" : words.memory, "--memory"),
                          .once = words.once,
                          .patience = patience_of(words)};
    if (options.bytes < 4_KiB)
        app::refuse_command_line("--memory of less than a page", "give more");
    return options;
}

void add_common(CLI::App& command, Words& words)
{
    command.add_option("-p,--port", words.port, "The server's port; 0: any that is free, which it says")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    command.add_option("-d,--device,--ib-dev", words.device, "The RDMA device; any: the best there is, at last soft")
        ->capture_default_str();
    command.add_option("--page", words.page, "Pages of this end's memory")
        ->check(CLI::IsMember({"4K", "2M", "1G"}, CLI::ignore_case))
        ->capture_default_str();
    command.add_flag("--arena", words.arena,
                     "The memory is an arena's, placed for few entries; else as mmap gives it");
    command.add_option("--timeout", words.timeout, "Seconds that the other end may be silent")
        ->check(CLI::Range(2.0, 3600.0))
        ->capture_default_str();
    command.add_flag("-F,--CPU-freq", words.no_warning,
                     "Does nothing: for perftest's command lines, which it keeps from warning");
}

void add_server(CLI::App& app, Words& words)
{
    CLI::App* const command = app.add_subcommand("server", "Do what clients say, one after the other, until SIGINT");
    add_common(*command, words);
    command->add_option("--bind", words.bind, "The address to wait at (default: every one)");
    command->add_option("--memory", words.memory, "Bytes for clients (default: 256M)");
    command->add_flag("--once", words.once, "End with the first client, with the exit status of its session");
}

void add_client(CLI::App& app, Words& words)
{
    const std::map<std::string, Operation> operations{{"write", Operation::write},
                                                      {"read", Operation::read},
                                                      {"send", Operation::send},
                                                      {"atomic", Operation::atomic}};
    const std::map<std::string, AtomicKind> atomics{{"fetch-and-add", AtomicKind::fetch_and_add},
                                                    {"compare-and-swap", AtomicKind::compare_and_swap},
                                                    {"FETCH_AND_ADD", AtomicKind::fetch_and_add},
                                                    {"CMP_AND_SWAP", AtomicKind::compare_and_swap}};
    CLI::App* const command = app.add_subcommand("client", "Measure, with a server");
    add_common(*command, words);
    command->add_option("host", words.host, "Where the server is")->required();
    command->add_option("--op", words.operation, "write, read, send or atomic (default: write)")
        ->transform(CLI::Transformer(operations))
        ->check(CLI::IsMember({Operation::write, Operation::read, Operation::send, Operation::atomic}));
    command
        ->add_option("-A,--atomic_type,--atomic-type", words.atomic,
                     "fetch-and-add or compare-and-swap (default: the first)")
        ->transform(CLI::Transformer(atomics))
        ->check(CLI::IsMember({AtomicKind::fetch_and_add, AtomicKind::compare_and_swap}));
    command->add_flag("--latency", words.latency, "Measure latency (default: bandwidth)");
    command->add_option("-s,--size", words.size, "Bytes of an operation (default: 64K; 2 for latency; 8 if atomic)");
    command->add_flag("-a,--all", words.all, "All sizes from 2 bytes to 8M, in powers of two");
    command
        ->add_option("-n,--iters", words.operations,
                     "Operations of each queue pair (default: 5000, fewer where that is more than 1G; 1000 for "
                     "latency)")
        ->check(CLI::Range(std::uint64_t{1}, most_operations));
    command->add_option("-D,--duration", words.duration, "Seconds, instead of a number of operations")
        ->check(CLI::Range(0.001, 86400.0));
    command->add_option("-t,--tx-depth", words.depth, "Operations of a queue pair under way, as far as memory goes")
        ->check(CLI::Range(1U, most_depth))
        ->capture_default_str();
    command->add_option("-r,--rx-depth", words.receives, "Receives of a queue pair that wait, as far as memory goes")
        ->check(CLI::Range(1U, most_depth))
        ->capture_default_str();
    command->add_option("-q,--qp", words.queue_pairs, "Queue pairs of each thread")
        ->check(CLI::Range(1U, most_streams))
        ->capture_default_str();
    command->add_option("--threads", words.threads, "Threads")
        ->check(CLI::Range(1U, most_streams))
        ->capture_default_str();
    command->add_option("-Q,--cq-mod", words.signal_every, "Operations for each completion")
        ->check(CLI::Range(1U, most_depth))
        ->capture_default_str();
    command->add_option("-I,--inline_size", words.inline_bytes, "Bytes up to which an operation carries its own")
        ->capture_default_str();
    command->add_flag("-b,--bidirectional", words.bidirectional, "Both ends begin operations; rates are sums");
    command->add_option("--memory", words.memory,
                        "Bytes of a queue pair in either direction (default: 32M, less for many)");
    command
        ->add_option("--registration", words.registration,
                     "How this end's memory has a key: each, temporary, batch, resident; or all, by turns")
        ->check(CLI::IsMember({"each", "temporary", "batch", "resident", "all"}))
        ->capture_default_str();
    command->add_option("--cache", words.cache,
                        "Bytes of a queue pair's memory that temporary and batch keep (default: half of it)");
    command
        ->add_option("--order", words.order,
                     "sequential, or hot: 80 % of operations on 20 % of memory (default: sequential if resident)")
        ->check(CLI::IsMember({"sequential", "hot"}));
    command->add_option("--rounds", words.rounds, "How often each is measured (default: 1; 3 to compare)")
        ->check(CLI::Range(1, 1000));
    command->add_flag("--verify", words.verify, "Compare the bytes, at both ends");
    command->add_flag("--compare-tcp", words.compare_tcp, "Move the same bytes by TCP, too");
    command->add_flag("--refusals", words.refusals,
                      "Measure nothing: try what the server's keys must refuse, and what they grant");
    command->add_flag("--report_gbits", words.gigabits, "Rates in Gb/sec");
    command->add_flag("--json", words.json, "Print one JSON object");
}

} // namespace

Options parse_options(int argc, const char* const* argv)
{
    Words words;
    CLI::App app{"RDMA operations between two processes: bandwidth, latency, and what registering memory costs.\n"
                 "Options are perftest's where it has them.",
                 "mrz-perf"};
    app.set_version_flag("--version", "mrz-perf " MRZ_VERSION);
    app.require_subcommand(1);
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); // as getopt, and so perftest
    app.footer("See mrz-perf(1) for the tables, the JSON keys, the exit status and examples.");
    add_server(app, words);
    add_client(app, words);

    Options options;
    if (const std::optional<std::string> text = app::parse_command_line(app, argc, argv)) {
        options.text = *text;
        return options;
    }
    options.json = words.json;
    options.unit = words.gigabits ? Unit::gigabits : Unit::mebibytes;
    if (app.got_subcommand("server"))
        options.server = server_of(words);
    else
        options.client = client_of(words);
    return options;
}

} // namespace mrz::perf

// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "engines/packet_maker.hpp"

#include "common/command_line.hpp"
#include "common/size.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_lcore.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace mrz::testpmd {
namespace {

// "0x6", or "6", which is hexadecimal, too: as testpmd reads it.
std::optional<std::uint64_t> parse_mask(std::string_view digits)
{
    if (digits.starts_with("0x") || digits.starts_with("0X"))
        digits.remove_prefix(2);
    std::uint64_t bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (error != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    return bits;
}

std::vector<unsigned> parse_lcores(std::string_view mask)
{
    const std::uint64_t bits = parse_mask(mask).value_or(0);
    if (bits == 0)
        app::refuse_command_line(fmt::format("\"{}\" is no mask of lcores", mask),
                                 "give hexadecimal digits, for example: --coremask=0x2");
    std::vector<unsigned> lcores;
    for (unsigned lcore = 0; lcore < 64; ++lcore)
        if ((bits >> lcore & 1) != 0)
            lcores.push_back(lcore);
    return lcores;
}

// "0,02:00:00:00:00:01"
void add_peer(std::map<std::uint16_t, rte_ether_addr>& peers, const std::string& text)
{
    const std::size_t comma = text.find(',');
    std::uint16_t port = 0;
    rte_ether_addr address = {};
    const char* const end = text.data() + std::min(comma, text.size());
    const auto [read, error] = std::from_chars(text.data(), end, port);
    if (comma == std::string::npos || error != std::errc{} || read != end || port >= RTE_MAX_ETHPORTS ||
        rte_ether_unformat_addr(text.c_str() + comma + 1, &address) != 0)
        app::refuse_command_line(fmt::format("\"{}\" is no port and Ethernet address", text),
                                 "give, for example: --eth-peer=0,02:00:00:00:00:01");
    peers[port] = address;
}

// What the parser fills in as text.
struct Texts {
    std::string mode = "io";
    std::string mp_alloc = "arena";
    std::string page = "2M";
    std::string shape;
    std::string topology = "paired";
    std::string coremask;
    std::string tx_offloads;
    std::vector<std::string> peers;
    std::string device;
};

template <class T>
CLI::Option* number(CLI::App& app, const char* name, T& value, T least, T most, const char* what)
{
    return app.add_option(name, value, what)->check(CLI::Range(least, most));
}

void add_options(CLI::App& app, Options& options, Texts& texts)
{
    MemoryOptions& memory = options.memory;
    PortOptions& port = options.port;
    ForwardOptions& forward = options.forward;
    constexpr std::uint16_t most_descriptors = 32768;

    app.add_flag("-i,--interactive", options.interactive, "A prompt; without it forwarding starts at once");
    app.add_flag("-a,--auto-start", options.auto_start, "With a prompt, too");
    app.add_flag("--tx-first", options.tx_first, "Send a burst on each port before forwarding");
    app.add_option("--cmdline-file", options.command_file, "Carry out the commands of this file first");
    number(app, "--stats-period", options.stats_period, 0U, 86400U, "Seconds between statistics; 0: none");

    app.add_option("--forward-mode", texts.mode, "What happens to packets: " + engine_names())->capture_default_str();
    number<std::uint16_t>(app, "--burst", forward.burst, 1, max_burst, "Packets of a burst")->capture_default_str();
    CLI::Option* const cores =
        number(app, "--nb-cores", forward.cores, 1U, unsigned{RTE_MAX_LCORE}, "Lcores that forward")
            ->capture_default_str();
    app.add_option("--coremask", texts.coremask, "Which lcores those are, in hexadecimal")->excludes(cores);
    app.add_option("--port-topology", texts.topology, "Where packets go")
        ->check(CLI::IsMember({"paired", "chained", "loop"}))
        ->capture_default_str();
    app.add_option("--eth-peer", texts.peers, "PORT,ADDRESS: who is behind a port");
    app.add_option("--txpkts", texts.shape, "Bytes of each segment of packets that are made: 64 or 64,128,…");
    app.add_flag("--lookup", forward.lookup, "Search the key of each packet, so that its cost is seen");

    number<std::uint16_t>(app, "--rxq", port.rx_queues, 1, most_queues, "Receive queues of a port")
        ->capture_default_str();
    number<std::uint16_t>(app, "--txq", port.tx_queues, 1, most_queues, "Transmit queues of a port")
        ->capture_default_str();
    number<std::uint16_t>(app, "--rxd", port.rx_descriptors, 1, most_descriptors,
                          "Descriptors of a receive queue (default: the driver's)");
    number<std::uint16_t>(app, "--txd", port.tx_descriptors, 1, most_descriptors,
                          "Descriptors of a transmit queue (default: the driver's)");
    app.add_option("--max-pkt-len", port.max_packet,
                   "Bytes of the longest packet, Ethernet header and checksum "
                   "included")
        ->check(CLI::Range(64U, 65535U));

    app.add_flag("--enable-rx-cksum", port.rx_checksums, "Let devices check what they receive, where they can");
    app.add_option("--tx-offloads", texts.tx_offloads,
                   "RTE_ETH_TX_OFFLOAD_… bits for devices, where they have them, in hexadecimal");

    app.add_option("--mp-alloc", texts.mp_alloc,
                   "Where packets live: in an arena; arena-extbuf: their data there as pinned external buffers; "
                   "native: as DPDK does by itself")
        ->capture_default_str();
    app.add_option("--arena-page", texts.page, "The arena's page size")->capture_default_str();
    number<std::uint32_t>(app, "--total-num-mbufs", memory.buffers, 1025, 1U << 28,
                          "Buffers of the pool (default: what queues and lcores can hold)");
    number<std::uint16_t>(app, "--mbuf-size", memory.buffer_size, RTE_PKTMBUF_HEADROOM + 64, 65472,
                          "Bytes of a buffer, 128 of headroom included")
        ->capture_default_str();
    number<std::uint32_t>(app, "--mbcache", memory.cache, 0, RTE_MEMPOOL_CACHE_MAX_SIZE,
                          "Buffers that an lcore keeps for itself")
        ->capture_default_str();
    app.add_option("--domain", texts.device,
                   "Register the arena in a domain of this RDMA device; any: the best there is");
}

PoolKind parse_kind(std::string_view text)
{
    std::vector<std::string_view> names;
    for (const PoolKind kind : {PoolKind::arena, PoolKind::arena_extbuf, PoolKind::native}) {
        if (text == to_string(kind))
            return kind;
        names.push_back(to_string(kind));
    }
    app::refuse_command_line(fmt::format("there is no kind of pool \"{}\"", text),
                             fmt::format("give one of: {}", fmt::join(names, ", ")));
}

void take_over(Options& options, const Texts& texts)
{
    ForwardOptions& forward = options.forward;
    forward.engine = find_engine(texts.mode);
    if (forward.engine == nullptr)
        app::refuse_command_line(fmt::format("there is no forward mode \"{}\"", texts.mode),
                                 "give one of: " + engine_names());
    if (!texts.shape.empty())
        forward.shape = parse_shape(texts.shape);
    if (!texts.coremask.empty())
        forward.lcores = parse_lcores(texts.coremask);
    if (!texts.tx_offloads.empty()) {
        const auto bits = parse_mask(texts.tx_offloads);
        if (!bits)
            app::refuse_command_line(fmt::format("\"{}\" is no mask of offloads", texts.tx_offloads),
                                     "give hexadecimal digits, for example: --tx-offloads=0xe");
        options.port.tx_offloads = *bits;
    }
    forward.topology = texts.topology == "paired"    ? Topology::paired
                       : texts.topology == "chained" ? Topology::chained
                                                     : Topology::loop;
    for (const std::string& peer : texts.peers)
        add_peer(forward.peers, peer);

    options.memory.kind = parse_kind(texts.mp_alloc);
    options.memory.page_size = app::parse_size(texts.page, "the arena's page size");
    if (!texts.device.empty())
        options.memory.device = texts.device;
    // Whose processes leave no files, and so give all pages back.
    const auto has = [&options](std::string_view word) {
        return std::ranges::find(options.eal, word) != options.eal.end();
    };
    options.memory.may_add_pages = has("--in-memory") && !has("--no-huge");
    if (options.tx_first && options.interactive && !options.auto_start)
        app::refuse_command_line("--tx-first is for forwarding that starts by itself",
                                 "give --auto-start too, or type: start tx_first");
    if (options.memory.device && options.memory.kind == PoolKind::native)
        app::refuse_command_line("--domain registers an arena, and --mp-alloc=native has none",
                                 "leave out one of the two");
    if (forward.lookup && !options.memory.device)
        app::refuse_command_line("--lookup needs keys to look up", "give --domain too, for example: --domain=any");
}

// A secondary process has neither ports nor an arena of its own; the EAL would wait for a primary one, deaf to
// signals.
void check_process_type(const std::vector<std::string>& eal)
{
    // getopt_long(3) takes any beginning of a name that is no other's.
    constexpr std::string_view name = "--proc-type";
    for (std::size_t i = 0; i < eal.size(); ++i) {
        const std::size_t equals = eal[i].find('=');
        const std::string_view given = std::string_view{eal[i]}.substr(0, equals);
        if (given.size() < std::string_view{"--pr"}.size() || !name.starts_with(given))
            continue;
        const std::string type = equals != std::string::npos ? eal[i].substr(equals + 1)
                                 : i + 1 < eal.size()        ? eal[i + 1]
                                                             : std::string{};
        if (type != "primary")
            app::refuse_command_line(
                fmt::format("{}={} is not for this program, which makes its own ports' memory", name, type),
                "leave it out; programs beside one another take --in-memory, or a --file-prefix each");
    }
}

} // namespace

PacketShape parse_shape(std::string_view text)
{
    const auto refuse_shape = [text](std::string limit) {
        throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                  .what = fmt::format("packets of \"{}\"", text),
                                  .limit = std::move(limit),
                                  .remedy = "give bytes of each segment, for example: 64 or 64,128"}};
    };
    PacketShape shape{.lengths = {}, .segments = 0};
    for (const char* at = text.data();; ++at) {
        if (shape.segments == max_segments)
            refuse_shape(fmt::format("a packet has at most {} segments", max_segments));
        std::uint16_t& length = shape.lengths[shape.segments++];
        const auto [end, error] = std::from_chars(at, text.data() + text.size(), length);
        if (error != std::errc{} || length == 0)
            refuse_shape("a segment is 1 to 65535 bytes");
        at = end;
        if (at == text.data() + text.size())
            break;
        if (*at != ',')
            refuse_shape("segments are separated by commas");
    }
    if (shape.length() < shortest_made)
        refuse_shape(fmt::format("{} bytes, where the headers alone are {}", shape.length(), shortest_made));
    if (shape.length() > longest_made)
        refuse_shape(fmt::format("{} bytes, where an IPv4 packet has at most 65535", shape.length()));
    return shape;
}

Options parse_options(int argc, char** argv)
{
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto divider = std::ranges::find(arguments, "--");
    Options options;
    options.eal.assign(arguments.begin(), divider);
    std::vector<std::string> own(divider == arguments.end() ? divider : divider + 1, arguments.end());

    CLI::App app{"Forwards packets whose memory lies in an arena, by dpdk-testpmd's names of options and verbs.",
                 "mrz-testpmd [EAL options] --"};
    app.footer("For example: mrz-testpmd --in-memory --no-pci -l 0,1 --vdev=net_null0 --vdev=net_null1 -- -i\n"
               "See mrz-testpmd(1) for the prompt's verbs and the exit status.");
    app.set_version_flag("--version", "mrz-testpmd " MRZ_VERSION);
    Texts texts;
    add_options(app, options, texts);
    // Before the divider too, where people type it first.
    for (const char* const asking : {"-h", "--help", "--version"})
        if (std::ranges::find(options.eal, asking) != options.eal.end())
            own = {asking};
    if (const std::optional<std::string> text = app::parse_command_line(app, std::move(own))) {
        options.text = *text;
        return options;
    }
    take_over(options, texts);
    check_process_type(options.eal);
    return options;
}

} // namespace mrz::testpmd

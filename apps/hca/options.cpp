// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "common/command_line.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mrz {
namespace {

using firmware::LinkType;

struct Words {
    std::string socket;
    std::string control;
    std::string name;
    std::vector<std::string> links;
    std::uint16_t lid = 0;
    std::string link = "infiniband";
    std::string registration = "umr";
    bool no_devx = false;
    std::uint32_t keys = 1U << 20;
    std::string mpt_cache;
    std::string mtt_cache;
    AskOptions ask;
};

//! "SETSxWAYS"; none: no cache.
hca::CacheGeometry cache_of(std::string_view text, std::string_view option)
{
    constexpr std::uint32_t most_entries = 1U << 24;
    if (text.empty())
        return {};
    hca::CacheGeometry geometry;
    const char* const end = text.data() + text.size();
    const auto sets = std::from_chars(text.data(), end, geometry.sets);
    const bool by = sets.ec == std::errc{} && sets.ptr != end && *sets.ptr == 'x';
    const auto ways = by ? std::from_chars(sets.ptr + 1, end, geometry.ways) : sets;
    if (!by || ways.ec != std::errc{} || ways.ptr != end || geometry.sets == 0 || geometry.ways == 0 ||
        geometry.ways > most_entries / geometry.sets)
        app::refuse_command_line(std::string{option} + " is SETSxWAYS, of at most " + std::to_string(most_entries) +
                                     " entries",
                                 "give such as 256x8");
    return geometry;
}

// Beyond are LIDs of many.
constexpr std::uint16_t most_lid = 0xbfff;

//! FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): the same name gives the same addresses in every run.
std::uint32_t hash_of(std::string_view text)
{
    std::uint32_t hash = 2166136261U;
    for (const char letter : text)
        hash = (hash ^ static_cast<std::uint8_t>(letter)) * 16777619U;
    return hash;
}

//! Addresses that differ from those of devices of other names.
void set_addresses(firmware::Settings& settings, std::string_view name)
{
    const std::uint32_t hash = hash_of(name);
    settings.guid = (settings.guid & ~std::uint64_t{0xffff'ffff}) | hash;
    for (unsigned i = 0; i < 3; ++i)
        settings.mac[5 - i] = static_cast<std::uint8_t>(hash >> (8 * i));
    settings.lid = static_cast<std::uint16_t>(1 + hash % most_lid);
}

ServeOptions serve_of(const Words& words)
{
    if (words.socket.empty())
        app::refuse_command_line("--socket is missing", "say where the virtual machine finds the device");
    ServeOptions options{.socket = words.socket, .control = std::nullopt, .adapter = {}};
    if (!words.control.empty())
        options.control = words.control;
    firmware::Settings& settings = options.adapter.settings;
    settings.link = words.link == "ethernet" ? LinkType::ethernet : LinkType::infiniband;
    settings.umr_modifies_entity_size = words.registration == "umr";
    if (words.no_devx)
        settings.log_max_uctx = settings.log_max_umem = 0;
    set_addresses(settings, words.name.empty() ? words.socket : words.name);
    if (words.lid != 0)
        settings.lid = words.lid;
    if (!words.links.empty() && settings.link != LinkType::infiniband)
        app::refuse_command_line("--link joins InfiniBand ports", "leave out --link, or --link-type");
    options.adapter.links = words.links;
    hca::HcaOptions& engine = options.adapter.engine;
    engine.keys.keys = words.keys;
    engine.mpt_cache = cache_of(words.mpt_cache, "--mpt-cache");
    engine.mtt_cache = cache_of(words.mtt_cache, "--mtt-cache");
    return options;
}

void add_serve(CLI::App& app, Words& words)
{
    app.add_option("--socket", words.socket, "Where the virtual machine finds the device: the path of a Unix socket");
    app.add_option("--control", words.control, "Where to listen for \"mrz-hca control\", too");
    app.add_option("--link-type", words.link, "What the port is to be")
        ->check(CLI::IsMember({"infiniband", "ethernet"}))
        ->capture_default_str();
    app.add_option("--name", words.name,
                   "What its GUID, MAC and LID follow from, so that devices differ (default: the socket's path)");
    app.add_option("--lid", words.lid,
                   "Its LID, by which others of its subnet reach it (default: follows from --name)")
        ->check(CLI::Range(std::uint16_t{1}, most_lid));
    app.add_option("--link", words.links,
                   "Where it meets another device that is given the same path, to be one subnet with it, now and "
                   "whenever the other comes: a Unix socket of the one that comes first; may be given more than once")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--registration", words.registration,
                   "How drivers register memory: umr (by work requests, with keys kept for it) or command")
        ->check(CLI::IsMember({"umr", "command"}))
        ->capture_default_str();
    app.add_flag("--no-devx", words.no_devx,
                 "Take no commands from processes, as a firmware without direct verbs (DevX)");
    app.add_option("--keys", words.keys, "Memory keys that there are")
        ->check(CLI::Range(1U << 6, (1U << 24) - 1))
        ->capture_default_str();
    app.add_option("--mpt-cache", words.mpt_cache,
                   "Cache of keys, SETSxWAYS entries (default: none, nothing counted)");
    app.add_option("--mtt-cache", words.mtt_cache, "Cache of translations, SETSxWAYS entries (default: none)");
}

} // namespace

Options parse_options(int argc, const char* const* argv)
{
    Words words;
    CLI::App app{
        "A ConnectX as a process: a PCI device for a virtual machine, which its mlx5 drivers use as they are.\n"
        "QEMU finds it by -device vfio-user-pci; see mrz-vm(1), run --hca.",
        "mrz-hca"};
    app.set_version_flag("--version", "mrz-hca " MRZ_VERSION);
    app.require_subcommand(0, 1);
    app.footer("See mrz-hca(1) for QEMU's options, the control socket, the exit status and examples.");
    add_serve(app, words);
    CLI::App* const control = app.add_subcommand("control", "Ask a device, or break it");
    control->add_option("path", words.ask.path, "What its --control was")->required();
    control
        ->add_option("words", words.ask.words,
                     "get NAME or set NAME, and ARGUMENT=VALUE...; \"get commands\" shows all")
        ->required();

    Options options;
    if (const std::optional<std::string> text = app::parse_command_line(app, argc, argv)) {
        options.text = *text;
        return options;
    }
    if (app.got_subcommand("control"))
        options.ask = words.ask;
    else
        options.serve = serve_of(words);
    return options;
}

} // namespace mrz

// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"

#include "common/output.hpp"
#include "common/signals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

namespace mrz::testpmd {
namespace {

//! What a command works on.
struct Subject {
    Session& session;
    PortStatistics& statistics;
    bool quit = false;
};
//! \return what is to be shown.
using Handler = std::string (*)(Subject& subject, const Words& words);

struct Command {
    CommandPattern pattern;
    Handler run;
};

//! The port that a word names; none for "all".
std::optional<std::uint16_t> port_of(const Word& word)
{
    if (word.text == "all")
        return std::nullopt;
    return static_cast<std::uint16_t>(word.number);
}

std::vector<const Port*> ports_of(const Session& session, const Word& word)
{
    std::vector<const Port*> ports;
    if (const auto one = port_of(word))
        ports.push_back(&session.port(*one));
    else
        for (const Port& port : session.ports())
            ports.push_back(&port);
    return ports;
}

// ---- Forwarding --------------------------------------------------------------------------------------------------

std::string start_after(Subject& subject, unsigned bursts)
{
    subject.session.start_forwarding(bursts);
    return forward_configuration(subject.session) + queue_configuration(subject.session);
}

std::string start(Subject& subject, const Words&)
{
    return start_after(subject, 0);
}

std::string start_tx_first(Subject& subject, const Words&)
{
    return start_after(subject, 1);
}

std::string start_tx_first_times(Subject& subject, const Words& words)
{
    return start_after(subject, words[2].number);
}

std::string stop(Subject& subject, const Words&)
{
    if (!subject.session.forwarding().running())
        return "Packet forwarding not started\n";
    app::print_text("Telling cores to stop...\nWaiting for lcores to finish...\n");
    subject.session.stop_forwarding();
    return forward_statistics(subject.session) + "\nDone.\n";
}

std::string show_forward_statistics(Subject& subject, const Words&)
{
    return forward_statistics(subject.session);
}

std::string clear_forward_statistics(Subject& subject, const Words&)
{
    subject.session.clear_forward_stats();
    return {};
}

std::string show_configuration(Subject& subject, const Words& words)
{
    if (words[2].text == "rxtx")
        return queue_configuration(subject.session);
    if (words[2].text == "cores")
        return lcore_configuration(subject.session);
    return forward_configuration(subject.session);
}

std::string set_mode(Subject& subject, const Words& words)
{
    subject.session.set_engine(words[2].text);
    return fmt::format("Set {} packet forwarding mode\n", words[2].text);
}

std::string set_burst(Subject& subject, const Words& words)
{
    subject.session.set_burst(static_cast<std::uint16_t>(words[2].number));
    return fmt::format("Number of packets per burst set to {}\n", words[2].number);
}

std::string set_lengths(Subject& subject, const Words& words)
{
    std::string lengths = words[2].text;
    lengths.erase(lengths.find_last_not_of(" \t") + 1);
    subject.session.set_shape(parse_shape(lengths));
    return fmt::format("Segments of packets that are made: {}\n", lengths);
}

// ---- Ports -------------------------------------------------------------------------------------------------------

std::string show_port(Subject& subject, const Words& words)
{
    const std::string& what = words[2].text;
    if (what == "summary")
        return port_summary(subject.session, port_of(words[3]));
    std::string text;
    for (const Port* port : ports_of(subject.session, words[3])) {
        if (what == "info")
            text += port_info(subject.session, *port);
        else if (what == "stats")
            text += subject.statistics.text(*port);
        else
            text += port_xstats(*port);
    }
    return text;
}

std::string clear_port(Subject& subject, const Words& words)
{
    const auto port = port_of(words[3]);
    const bool extended = words[2].text == "xstats";
    std::string text;
    for (const std::uint16_t cleared :
         extended ? subject.session.clear_port_xstats(port) : subject.session.clear_port_stats(port))
        text += fmt::format("\n  NIC {}statistics for port {} cleared\n", extended ? "extended " : "", cleared);
    return text;
}

std::string change_port(Subject& subject, const Words& words)
{
    const std::string& verb = words[1].text;
    const auto port = port_of(words[2]);
    if (verb == "start") {
        subject.session.start_ports(port);
        std::string text;
        for (const Port* started : ports_of(subject.session, words[2]))
            if (started->open())
                text += fmt::format("Port {}: {}\n", started->id(), address_text(started->address()));
        return text + "Done\n";
    }
    app::print_text(verb == "stop" ? "Stopping ports...\n" : "Closing ports...\n");
    if (verb == "stop")
        subject.session.stop_ports(port);
    else
        subject.session.close_ports(port);
    return "Done\n";
}

// ---- Memory, and the prompt itself -------------------------------------------------------------------------------

std::string show_arenas(Subject& subject, const Words&)
{
    return arenas(subject.session);
}

std::string show_plan(Subject& subject, const Words&)
{
    return plan(subject.session);
}

std::string show_map(Subject& subject, const Words&)
{
    return map(subject.session);
}

std::string help(Subject&, const Words&)
{
    return command_help();
}

std::string help_on(Subject&, const Words& words)
{
    return command_help(words[1].text);
}

std::string quit(Subject& subject, const Words&)
{
    subject.quit = true;
    return {};
}

const Command commands[] = {
    {{"start", "forward packets"}, start},
    {{"start tx_first", "send a burst from each port, then forward"}, start_tx_first},
    {{"start tx_first <count>", "send so many bursts from each port, then forward"}, start_tx_first_times},
    {{"stop", "stop forwarding, and show its statistics"}, stop},
    {{"show fwd stats all", "what was forwarded since the start, or since it was cleared"}, show_forward_statistics},
    {{"clear fwd stats all", "count what is forwarded from zero"}, clear_forward_statistics},
    {{"show config fwd|cores|rxtx", "what the next start is to do: lcores and ways; queues and bursts"},
     show_configuration},
    {{"set fwd <mode>", "what is done to packets, from the next start on"}, set_mode},
    {{"set burst <packets>", "how many are received, and sent, at once, from the next start on"}, set_burst},
    {{"set txpkts <lengths>", "the segments of packets that are made, in bytes: 64, or 64,128"}, set_lengths},
    {{"show port info|stats|xstats|summary all", "what the ports are, and what they count"}, show_port},
    {{"show port info|stats|xstats|summary <port>", "the same of one port"}, show_port},
    {{"clear port stats|xstats all", "count from zero what the ports count"}, clear_port},
    {{"clear port stats|xstats <port>", "the same of one port"}, clear_port},
    {{"port start|stop|close all", "start, stop or close the ports"}, change_port},
    {{"port start|stop|close <port>", "the same of one port"}, change_port},
    {{"show arenas", "windows, keys and pools of the arena, and how full it is"}, show_arenas},
    {{"show plan", "what keys over the packets' memory cost, beside plain DPDK memory"}, show_plan},
    {{"show map", "a picture of the arena's pages"}, show_map},
    {{"help", "this list"}, help},
    {{"help <command>", "the commands that begin with a word"}, help_on},
    {{"quit", "stop forwarding, close the ports, and end"}, quit},
};

void say_refused(const std::string& what)
{
    std::fflush(stdout); // so that both are in order where they go to one place
    app::say("{}", what);
}

std::string first_word(std::string_view line)
{
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::size_t end = std::min(line.find_first_of(" \t#", begin), line.size());
    return std::string{line.substr(begin, end - begin)};
}

} // namespace

std::span<const CommandPattern> command_patterns()
{
    static const std::vector<CommandPattern> patterns = [] {
        std::vector<CommandPattern> all;
        for (const Command& command : commands)
            all.push_back(command.pattern);
        return all;
    }();
    return patterns;
}

std::string command_help(std::string_view word)
{
    std::vector<const CommandPattern*> shown;
    std::size_t width = 0;
    for (const CommandPattern& pattern : command_patterns()) {
        if (!word.empty() && first_word(pattern.words) != word)
            continue;
        shown.push_back(&pattern);
        width = std::max(width, pattern.words.size());
    }
    if (shown.empty())
        return fmt::format("No command begins with \"{}\"; \"help\" lists all\n", word);
    std::string text;
    for (const CommandPattern* pattern : shown)
        text += fmt::format("  {:<{}}  {}\n", pattern->words, width, pattern->help);
    return text;
}

CommandRunner::CommandRunner(Session& session) : session_{session}, parser_{command_patterns()} {}

bool CommandRunner::run(std::string_view line)
{
    const ParsedLine parsed = parser_.parse(line);
    switch (parsed.kind) {
    case LineKind::nothing:
        return true;
    case LineKind::unknown:
        say_refused("Command not found; try: help");
        return true;
    case LineKind::bad:
        say_refused(fmt::format("Bad arguments; try: help {}", first_word(line)));
        return true;
    case LineKind::ambiguous:
        say_refused("Ambiguous command; try: help");
        return true;
    case LineKind::command:
        break;
    }
    Subject subject{.session = session_, .statistics = statistics_};
    try {
        app::print_text(commands[parsed.command].run(subject, parsed.words));
    } catch (const Error& error) {
        if (std::ferror(stdout) != 0)
            throw;
        say_refused(error.what());
    }
    return !subject.quit;
}

} // namespace mrz::testpmd

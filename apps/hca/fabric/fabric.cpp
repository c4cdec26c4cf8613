// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fabric.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace mrz::fabric {
namespace {

hca::LinkCounters sum(const hca::LinkCounters& a, const hca::LinkCounters& b)
{
    return {.packets_sent = a.packets_sent + b.packets_sent,
            .bytes_sent = a.bytes_sent + b.bytes_sent,
            .packets_received = a.packets_received + b.packets_received,
            .bytes_received = a.bytes_received + b.bytes_received};
}

bool is_at(const queues::PeerAddress& peer, const PortAddress& port)
{
    return peer.lid == port.lid && (!peer.global || peer.gid == gid_of(port));
}

std::string name_of(const PortAddress& port)
{
    return "LID " + std::to_string(port.lid) + ", GUID " + format_hex(port.guid);
}

} // namespace

queues::Gid gid_of(const PortAddress& port) noexcept
{
    queues::Gid gid{std::byte{0xfe}, std::byte{0x80}};
    for (unsigned i = 0; i < 8; ++i)
        gid[15 - i] = static_cast<std::byte>(port.guid >> (8 * i));
    return gid;
}

Fabric::Fabric(hca::Hca& engine, PortAddress own, const std::vector<std::string>& paths, std::function<void()> wake)
    : engine_{engine}, own_{own}, wake_{std::move(wake)}
{
    for (const std::string& path : paths) {
        Line& line = lines_.emplace_back();
        line.state.path = path;
        line.cable =
            std::make_unique<Cable>(path, own_, [this, &line](Cable::Joined what) { joined(line, std::move(what)); });
    }
}

queues::Route Fabric::route(const queues::PeerAddress& peer) const
{
    if (is_at(peer, own_))
        return {true, {}};
    const std::lock_guard lock{mutex_};
    for (const Line& line : lines_) {
        if (line.link && line.link->open() && is_at(peer, *line.state.peer))
            return {true, line.link};
    }
    return {false, {}};
}

std::vector<Fabric::State> Fabric::state() const
{
    std::vector<State> all;
    const std::lock_guard lock{mutex_};
    for (const Line& line : lines_) {
        State state = line.state;
        state.up = line.link && line.link->open();
        if (line.link)
            state.counters = sum(state.counters, line.link->counters());
        all.push_back(std::move(state));
    }
    return all;
}

void Fabric::joined(Line& line, Cable::Joined joined)
{
    auto link = std::make_shared<hca::Link>(std::move(joined.wire), wake_);
    {
        const std::lock_guard lock{mutex_};
        line.state.peer = joined.peer;
        ++line.state.times_up;
        line.link = std::move(link);
    }
    log(Severity::info, "linked at " + printable(line.state.path) + " with " + name_of(joined.peer));
    wake_();
}

std::vector<std::shared_ptr<hca::Link>> Fabric::links() const
{
    std::vector<std::shared_ptr<hca::Link>> all;
    const std::lock_guard lock{mutex_};
    for (const Line& line : lines_) {
        if (line.link)
            all.push_back(line.link);
    }
    return all;
}

bool Fabric::work()
{
    bool worked = false;
    for (const std::shared_ptr<hca::Link>& link : links()) {
        try {
            worked = engine_.progress(*link, true) || worked;
        } catch (const std::exception& error) { // for want of memory
            link->close(error.what());
        }
        if (link->ended())
            remove(link);
    }
    return worked;
}

void Fabric::remove(const std::shared_ptr<hca::Link>& link)
{
    std::string said;
    {
        const std::lock_guard lock{mutex_};
        const auto line = std::ranges::find(lines_, link, &Line::link);
        State& state = line->state;
        state.why_lost = link->why();
        state.counters = sum(state.counters, link->counters());
        ++state.times_lost;
        line->link.reset();
        said =
            "the link at " + printable(state.path) + " with " + name_of(*state.peer) + " is lost: " + state.why_lost;
        line->cable->lost();
    }
    log(Severity::warning, said);
}

bool Fabric::prepare_to_sleep()
{
    bool sleeps = true;
    for (const std::shared_ptr<hca::Link>& link : links())
        sleeps = link->sleep() && sleeps;
    return sleeps;
}

void Fabric::watch(std::vector<pollfd>& descriptors) const
{
    for (const std::shared_ptr<hca::Link>& link : links()) {
        if (!link->open())
            continue;
        descriptors.push_back({link->socket(), POLLIN, 0});
        if (link->process() >= 0)
            descriptors.push_back({link->process(), POLLIN, 0});
    }
}

void Fabric::awake(std::span<const pollfd> descriptors)
{
    const auto is_readable = [&descriptors](int descriptor) {
        const auto found = std::ranges::find(descriptors, descriptor, &pollfd::fd);
        return found != descriptors.end() && found->revents != 0;
    };
    for (const std::shared_ptr<hca::Link>& link : links()) {
        if (is_readable(link->socket()))
            link->hear();
        if (link->process() >= 0 && is_readable(link->process()))
            link->lost();
    }
}

} // namespace mrz::fabric

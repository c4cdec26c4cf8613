// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include "from_peer.hpp"

#include "common/arena_size.hpp"
#include "common/signals.hpp"

#include <charconv>
#include <thread>
#include <utility>

namespace mrz::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds glance{1};

std::string to_hex(std::span<const std::byte> bytes)
{
    std::string text;
    for (const std::byte byte : bytes)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

std::vector<std::byte> from_hex(std::string_view text)
{
    std::vector<std::byte> bytes;
    for (; text.size() >= 2; text.remove_prefix(2)) {
        unsigned value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + 2, value, 16);
        if (error != std::errc{} || end != text.data() + 2)
            refuse_message("a region is not in hexadecimal digits");
        bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

RemoteRegion region_from(const Json& text, Operation operation, std::size_t memory)
{
    if (!text.is_string())
        refuse_message("a region is no text");
    const RemoteRegion region = [&] {
        try {
            return RemoteRegion::unpack(from_hex(text.get_ref<const std::string&>()));
        } catch (const Error& error) {
            refuse_message(std::string{"a region: "} + error.what());
        }
    }();
    if (region.length < memory || !grants(region.access | Access::local_write, target_access(operation)))
        refuse_message("a region is smaller, or grants less, than what was agreed on");
    return region;
}

//! What went wrong here may follow from what went wrong there, which says more.
template <class Run>
auto told_first(Channel& channel, Run run)
{
    try {
        return run();
    } catch (const Error& error) {
        if (error.cause().trouble == Trouble::peer)
            channel.throw_if_told(std::chrono::milliseconds{500});
        throw;
    }
}

} // namespace

std::unique_ptr<app::WorkMemory> make_memory(const MemoryOptions& options, std::size_t length)
{
    const std::size_t page = options.page_size;
    const std::size_t whole = (length + page - 1) / page * page;
    app::check_machine_has(whole);
    if (options.arena)
        return app::arena_memory("perf", whole, page);
    if (page == 4_KiB)
        return app::ordinary_memory(whole, app::OrdinaryPages::small);
    return app::hugetlb_memory(whole, page);
}

std::size_t memory_needed(const Settings& settings) noexcept
{
    return settings.streams() * settings.memory * (settings.both_begin() ? 2 : 1);
}

Lines::Lines(const Domain& domain, const Settings& settings, bool server, app::WorkMemory& memory)
    : settings_{settings}, server_{server}, lasting_{memory.lasting()}, lines_(settings.streams())
{
    std::span<std::byte> left = memory.bytes();
    const auto cut = [&left, this] {
        const std::span<std::byte> piece = left.first(settings_.memory);
        left = left.subspan(settings_.memory);
        return piece;
    };
    for (unsigned number = 0; Line & line : lines_) {
        line.number = number++;
        if (!server || settings.both_begin())
            line.local = cut();
    }
    if (!server && !settings.both_begin())
        return;
    for (Line& line : lines_) {
        line.target = cut();
        line.region = domain.register_memory(line.target, target_access(settings.operation),
                                             {.looked_up = false, .lasting = lasting_});
    }
}

void Lines::connect(unsigned number, const Make& make)
{
    Line& line = lines_[number];
    const QueuePairOptions options{.send_requests = settings_.depth,
                                   .receive_requests = settings_.receives,
                                   .segments = 1,
                                   .inline_bytes = settings_.inline_bytes};
    line.connection = make(number, options, [&](QueuePair& queue_pair) {
        if (!line.region || settings_.operation != Operation::send)
            return;
        line.receiver.emplace(queue_pair, line.target, *line.region, settings_.largest, settings_.receives);
        line.receiver->refill();
    });
    if (line.receiver)
        line.receiver->use(line.connection->queue_pair());
}

Json Lines::regions() const
{
    Json list = Json::array();
    for (const Line& line : lines_)
        list.push_back(line.region && settings_.operation != Operation::send ? to_hex(line.region->remote().pack())
                                                                             : std::string{});
    return {{"regions", list}};
}

void Lines::take_regions(const Json& message)
{
    const Json& list = member(message, "regions");
    if (!list.is_array() || list.size() != lines_.size())
        refuse_message("regions is not a list of one for each queue pair");
    if (settings_.operation == Operation::send || (server_ && !settings_.both_begin()))
        return;
    for (Line& line : lines_)
        line.remote = region_from(list[line.number], settings_.operation, settings_.memory);
}

void Lines::disconnect() noexcept
{
    for (Line& line : lines_)
        if (line.connection)
            line.connection->disconnect();
}

Results run_as_client(const Place& place, const Step& step)
{
    Channel& channel = place.channel;
    const LineUse use{place.settings, step, false};
    for (Line& line : place.lines.all())
        prepare(line, use);
    Work work{place.domain, place.lines.all(), use, {.lasting = place.lines.lasting(), .silence = place.silence}};
    return told_first(channel, [&] {
        channel.send("step", to_json(step));
        channel.wait("ready");
        work.start();
        const auto deadline = Clock::now() + step.duration;
        bool interrupted = false;
        for (; !work.begun_all(); std::this_thread::sleep_for(glance)) {
            channel.watch();
            interrupted |= app::pending_interrupt() != 0;
            if (interrupted || (step.operations == 0 && Clock::now() >= deadline))
                work.stop();
        }
        work.rethrow();
        Results results{.client = work.outcome(), .server = {}};
        results.client.interrupted = interrupted;
        channel.send("finished", to_json(results.client));
        std::optional<Json> theirs;
        for (; !(theirs = channel.poll("finished")); std::this_thread::sleep_for(glance))
            work.rethrow();
        results.server = outcome_from(*theirs, place.lines.all().size());
        work.expect(results.server.operations);
        for (; !work.ended(); std::this_thread::sleep_for(glance))
            channel.watch();
        work.rethrow();
        for (const Line& line : place.lines.all())
            results.client.verified += verify(line, use, results.server.operations[line.number]);
        return results;
    });
}

void run_as_server(const Place& place, const Step& step)
{
    Channel& channel = place.channel;
    const LineUse use{place.settings, step, true};
    for (Line& line : place.lines.all())
        prepare(line, use);
    Work work{place.domain, place.lines.all(), use, {.lasting = place.lines.lasting(), .silence = place.silence}};
    told_first(channel, [&] {
        channel.send("ready");
        work.start();
        const auto deadline = Clock::now() + step.duration;
        std::optional<Outcome> theirs;
        for (; !theirs || !work.ended(); std::this_thread::sleep_for(glance)) {
            app::throw_if_interrupted();
            if (theirs) {
                channel.watch();
            } else if (const auto message = channel.poll("finished")) {
                theirs = outcome_from(*message, place.lines.all().size());
                work.expect(theirs->operations);
                if (theirs->interrupted)
                    work.stop();
            }
            if (step.operations == 0 && Clock::now() >= deadline)
                work.stop();
            work.rethrow();
        }
        work.rethrow();
        Outcome mine = work.outcome();
        for (const Line& line : place.lines.all())
            mine.verified += verify(line, use, theirs->operations[line.number]);
        channel.send("finished", to_json(mine));
    });
}

} // namespace mrz::perf

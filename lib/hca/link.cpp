// SPDX-License-Identifier: BSD-3-Clause
#include <hca/link.hpp>

#include <utility>

namespace mrz::hca {
namespace {

// Whoever polls less often than so many times while the link's keeper sleeps is served by the keeper.
constexpr std::uint32_t polls_to_attend = 32;

} // namespace

Link::Link(std::unique_ptr<Wire> wire, std::function<void()> wake) : wire_{std::move(wire)}, wake_{std::move(wake)} {}

Link::~Link()
{
    wire_->hang_up({});
}

std::string Link::why() const
{
    const std::lock_guard lock{attention_mutex_};
    return why_;
}

LinkCounters Link::counters() const noexcept
{
    return {.packets_sent = packets_sent_.load(std::memory_order_relaxed),
            .bytes_sent = bytes_sent_.load(std::memory_order_relaxed),
            .packets_received = packets_received_.load(std::memory_order_relaxed),
            .bytes_received = bytes_received_.load(std::memory_order_relaxed)};
}

void Link::hear()
{
    const Wire::Heard heard = wire_->hear();
    if (heard.gone)
        end(heard.why.empty() ? "the peer has hung up" : "the peer has hung up: " + heard.why, false);
}

void Link::lost()
{
    end("the peer's process has ended", false);
}

void Link::close(std::string_view why)
{
    end(why, true);
}

void Link::end(std::string_view why, bool tell_peer)
{
    {
        const std::lock_guard lock{attention_mutex_};
        Phase expected = Phase::open;
        if (!phase_.compare_exchange_strong(expected, Phase::ending))
            return;
        why_ = why;
    }
    if (tell_peer)
        deaf_.store(true);
    wire_->hang_up(tell_peer ? why : std::string_view{});
    leave_work();
}

bool Link::sleep()
{
    {
        const std::lock_guard lock{transmit_};
        if (waits_for_room_.load() && !wire_->out().sleep())
            return false;
    }
    const bool nothing_in = wire_->in().sleep() || deaf_.load();
    return nothing_in && !unfinished_.load() && phase_.load() != Phase::ending;
}

void Link::attend()
{
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (attended() || recent_polls_.fetch_add(1, std::memory_order_relaxed) + 1 < polls_to_attend)
        return;
    recent_polls_.store(0, std::memory_order_relaxed);
    attended_.store(true);
    wire_->in().stay_awake();
    {
        const std::lock_guard lock{transmit_};
        wire_->out().stay_awake();
    }
    // After the flags are down: the keeper raises them again unless somebody attends.
    if (wake_)
        wake_();
}

bool Link::write(const Packet& packet, std::span<const Piece> payload)
{
    bool wakes = false;
    bool written = false;
    bool free_now = false;
    {
        const std::lock_guard lock{transmit_};
        RingWriter& out = wire_->out();
        written = out.has_room(packet.payload);
        if (written) {
            wakes = out.write(packet, payload);
            // One thread at a time adds.
            packets_sent_.store(packets_sent_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            bytes_sent_.store(bytes_sent_.load(std::memory_order_relaxed) + packet.payload,
                              std::memory_order_relaxed);
        } else {
            free_now = !arm_room();
        }
    }
    if (wakes)
        wire_->wake();
    if (free_now)
        leave_work();
    return written;
}

bool Link::arm_room()
{
    waits_for_room_.store(true);
    return attended() || wire_->out().sleep();
}

bool Link::is_broken()
{
    const std::lock_guard lock{transmit_};
    return wire_->out().broken();
}

void Link::wait_for_room(std::uint32_t qpn)
{
    bool free_now = false;
    {
        const std::lock_guard lock{transmit_};
        blocked_.push_back(qpn);
        free_now = !arm_room();
    }
    if (free_now)
        leave_work();
}

void Link::want_attention(std::uint32_t qpn)
{
    const std::lock_guard lock{attention_mutex_};
    attention_.push_back(qpn);
}

void Link::leave_work()
{
    unfinished_.store(true);
    if (!busy_.load())
        call_keeper();
}

void Link::call_keeper()
{
    // Attended, it is looked at by who polls, and else by the keeper, who is awake then.
    if (wake_ && !attended_.load())
        wake_();
}

} // namespace mrz::hca

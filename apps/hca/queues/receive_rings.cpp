// SPDX-License-Identifier: BSD-3-Clause
#include "queues/receive_rings.hpp"

#include "layouts/wqe.hpp"

#include <mrzone/base.hpp>

#include <algorithm>

namespace mrz::queues {
namespace {

using namespace layouts;

constexpr std::size_t most_entry_bytes = 2048;
using Entry = std::array<std::byte, most_entry_bytes>;

// How many are left, of a ring of so many entries. A guest that says more than there can be has lost count.
std::uint32_t left_of(std::uint16_t produced, std::uint16_t taken, std::uint32_t entries)
{
    const std::uint32_t left = static_cast<std::uint16_t>(produced - taken);
    if (left <= entries)
        return left;
    log_once(Severity::warning, "a receive queue's counter says more than the queue holds: nothing is taken from it");
    return 0;
}

// A receive whose memory is gone takes its message, and fails.
void read_entry(const WorkRing& ring, dma::Bus& bus, std::uint32_t index, std::span<std::byte> entry, bool& there)
{
    there = ring.read(bus, index, entry);
    if (!there)
        std::ranges::fill(entry, std::byte{});
}

} // namespace

void read_scatter_list(std::span<const std::byte> segments, std::vector<hca::Sge>& sges)
{
    sges.clear();
    for (; segments.size() >= wqe_data_seg::bytes; segments = segments.subspan(wqe_data_seg::bytes)) {
        const std::uint64_t count = get(segments, wqe_data_seg::byte_count);
        const auto key = static_cast<std::uint32_t>(get(segments, wqe_data_seg::lkey));
        if (count == 0 && key == terminate_scatter_list_key)
            return;
        sges.push_back({Iova{get(segments, wqe_data_seg::addr)},
                        static_cast<std::uint32_t>(count == 0 ? most_bytes_of_a_piece : count), LKey{key}});
    }
}

std::uint32_t ReceiveRing::left()
{
    if (produced_ == taken_)
        produced_ = ring_.produced(bus_).value_or(produced_);
    const std::uint32_t count = left_of(produced_, taken_, ring_.entries());
    if (count == 0)
        produced_ = taken_; // so that it is read again
    return count;
}

hca::Popped ReceiveRing::take(hca::ReceiveWork& work)
{
    const std::lock_guard lock{mutex_};
    if (left() == 0) {
        starved_.store(true);
        return hca::Popped::nothing;
    }
    Entry room;
    const std::span<std::byte> entry = std::span{room}.first(std::min(ring_.entry_bytes(), room.size()));
    bool there = false;
    read_entry(ring_, bus_, taken_, entry, there);
    read_scatter_list(entry, work.sges);
    work.id = taken_++;
    return hca::Popped::work;
}

void ReceiveRing::reset() noexcept
{
    const std::lock_guard lock{mutex_};
    taken_ = 0;
    produced_ = 0;
    starved_.store(false);
}

bool ReceiveRing::has_more()
{
    const std::lock_guard lock{mutex_};
    return left() != 0;
}

std::uint16_t ReceiveRing::taken() const
{
    const std::lock_guard lock{mutex_};
    return taken_;
}

std::uint32_t SharedReceiveRing::refreshed_left()
{
    const auto produced = ring_.produced(bus_);
    return produced ? left_of(*produced, taken_, ring_.entries()) : 0;
}

hca::Popped SharedReceiveRing::take(hca::ReceiveWork& work)
{
    const std::lock_guard lock{mutex_};
    const std::uint32_t before = refreshed_left();
    if (before == 0) {
        starved_.store(true);
        return hca::Popped::nothing;
    }
    Entry room;
    const std::span<std::byte> entry = std::span{room}.first(std::min(ring_.entry_bytes(), room.size()));
    bool there = false;
    read_entry(ring_, bus_, next_, entry, there);
    read_scatter_list(entry.subspan(std::min(entry.size(), wqe_srq_next_seg::bytes)), work.sges);
    work.id = next_;
    if (there)
        next_ = static_cast<std::uint32_t>(get(entry, wqe_srq_next_seg::next_wqe_index)) & (ring_.entries() - 1);
    ++taken_;
    if (before > limit_)
        return hca::Popped::work;
    limit_ = 0;
    return hca::Popped::work_and_limit;
}

bool SharedReceiveRing::arm_limit(std::uint16_t limit)
{
    const std::lock_guard lock{mutex_};
    limit_ = limit;
    if (limit == 0 || refreshed_left() >= limit)
        return false;
    limit_ = 0;
    return true;
}

std::uint16_t SharedReceiveRing::limit() const
{
    const std::lock_guard lock{mutex_};
    return limit_;
}

bool SharedReceiveRing::has_more()
{
    const std::lock_guard lock{mutex_};
    return refreshed_left() != 0;
}

std::uint16_t SharedReceiveRing::taken() const
{
    const std::lock_guard lock{mutex_};
    return taken_;
}

std::uint32_t SharedReceiveRing::left()
{
    const std::lock_guard lock{mutex_};
    return refreshed_left();
}

} // namespace mrz::queues

// SPDX-License-Identifier: BSD-3-Clause
#include "pin_ring.hpp"

#include <mrzone/base.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace mrz::soft {

std::unique_ptr<PinRing> PinRing::make(int& error, unsigned places)
{
    std::unique_ptr<PinRing> made{new PinRing};
    made->vacant_.reserve(places);
    for (unsigned place = places; place-- > 0;)
        made->vacant_.push_back(place);
    // One entry: nothing is ever submitted.
    int result = ::io_uring_queue_init(1, &made->ring_, 0);
    if (result < 0) {
        made->ring_.ring_fd = -1;
        error = -result;
        return nullptr;
    }
    result = ::io_uring_register_buffers_sparse(&made->ring_, places);
    if (result < 0) {
        error = -result;
        return nullptr;
    }
    return made;
}

PinRing::~PinRing()
{
    if (ring_.ring_fd >= 0)
        ::io_uring_queue_exit(&ring_);
}

std::vector<unsigned> PinRing::pin(std::span<const std::span<std::byte>> pieces, int& error)
{
    std::vector<unsigned> places{vacant_.end() - static_cast<std::ptrdiff_t>(pieces.size()), vacant_.end()};
    std::ranges::sort(places);
    std::vector<iovec> vectors;
    vectors.reserve(pieces.size());
    for (const auto& piece : pieces)
        vectors.push_back({.iov_base = piece.data(), .iov_len = piece.size()});

    std::size_t done = 0;
    while (done < places.size() && error == 0) {
        std::size_t end = done + 1;
        while (end < places.size() && places[end] == places[done] + (end - done))
            ++end;
        const int result = set(places[done], std::span{vectors}.subspan(done, end - done));
        if (result > 0)
            done += static_cast<std::size_t>(
                result); // fewer than asked for where one fails, which says so if it is first
        else
            error = result < 0 ? -result : EIO;
    }
    vacant_.resize(vacant_.size() - places.size());
    vacant_.insert(vacant_.end(), places.rbegin(), places.rend() - static_cast<std::ptrdiff_t>(done));
    places.resize(done);
    return places;
}

void PinRing::unpin(unsigned place) noexcept
{
    const iovec nothing{};
    const int result = set(place, {&nothing, 1});
    if (result == 1)
        vacant_.push_back(place); // within what was reserved
    else
        log(Severity::error, std::string{"soft: memory stays pinned until the process ends: "} +
                                 std::strerror(result < 0 ? -result : EIO));
}

int PinRing::set(unsigned place, std::span<const iovec> vectors) noexcept
{
    return ::io_uring_register_buffers_update_tag(&ring_, place, vectors.data(), nullptr,
                                                  static_cast<unsigned>(vectors.size()));
}

} // namespace mrz::soft

// SPDX-License-Identifier: BSD-3-Clause
#include "pin_ring.hpp"

#include <mrzone/base.hpp>

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

std::optional<unsigned> PinRing::pin(std::span<std::byte> pages, int& error)
{
    const unsigned place = vacant_.back();
    const int result = set(place, pages);
    if (result != 1) {
        error = result < 0 ? -result : EIO;
        return std::nullopt;
    }
    vacant_.pop_back();
    return place;
}

void PinRing::unpin(unsigned place) noexcept
{
    const int result = set(place, {});
    if (result == 1)
        vacant_.push_back(place); // within what was reserved
    else
        log(Severity::error, std::string{"soft: memory stays pinned until the process ends: "} +
                                 std::strerror(result < 0 ? -result : EIO));
}

int PinRing::set(unsigned place, std::span<std::byte> pages) noexcept
{
    const iovec buffer{.iov_base = pages.data(), .iov_len = pages.size()};
    const __u64 tag = 0;
    return ::io_uring_register_buffers_update_tag(&ring_, place, &buffer, &tag, 1);
}

} // namespace mrz::soft

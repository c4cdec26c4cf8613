// SPDX-License-Identifier: BSD-3-Clause
#include "receiver.hpp"

#include <algorithm>
#include <cerrno>

namespace mrz::perf {

Receiver::Receiver(QueuePair& queue_pair, std::span<std::byte> memory, const Region& region, std::size_t largest,
                   unsigned receives) noexcept
    : queue_pair_{&queue_pair}, memory_{memory}, region_{&region}, largest_{largest},
      slots_{memory.size(), largest, Order::sequential, 0}, most_{std::min<std::size_t>(receives, slots_.count())}
{
}

void Receiver::refill()
{
    for (; posted_ - received_ < most_; ++posted_) {
        const Segment segment{region_->iova() + slots_.offset(posted_), static_cast<std::uint32_t>(largest_),
                              region_->lkey()};
        queue_pair_->post_receive({.id = mark | posted_, .segments = {&segment, 1}});
    }
}

void Receiver::take(const Completion& one, std::size_t size, const Pattern* brought, std::size_t offset)
{
    const std::uint64_t number = one.id & ~mark;
    if (number != received_ || one.byte_length != size)
        throw Error{EBADMSG,
                    {.trouble = Trouble::data,
                     .what = "receiving message " + std::to_string(received_),
                     .limit = number != received_ ? "its number is" : "its length in bytes is",
                     .present = number != received_ ? number : one.byte_length,
                     .need = number != received_ ? received_ : size,
                     .remedy = "report it, with both command lines"}};
    if (brought != nullptr)
        brought->check(memory_.subspan(slots_.offset(number), size), offset, "that were sent");
    ++received_;
}

} // namespace mrz::perf

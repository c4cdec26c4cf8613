// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.hpp"

#include <common/signals.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

namespace bench::storage {

namespace {

std::uint32_t nanoseconds(std::chrono::nanoseconds time)
{
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max(); // four seconds
    return static_cast<std::uint32_t>(std::min<std::int64_t>(time.count(), most));
}

} // namespace

Traffic::Traffic(const mrz::Domain& domain, std::span<std::byte> memory, const mrz::Region& store,
                 std::size_t block_size, std::size_t depth)
    : memory_{memory}, store_{store.iova()}, store_key_{store.rkey()}, block_size_{block_size}, depth_{depth},
      near_{domain.create_queue_pair({.send_requests = static_cast<std::uint32_t>(depth)})},
      far_{domain.create_queue_pair()}, uses_(depth), begun_(depth)
{
    near_->connect(far_->local());
    far_->connect(near_->local());
}

void Traffic::run(Tier& tier, std::span<const Operation> operations, std::vector<std::uint32_t>* latencies)
{
    while (!operations.empty()) {
        if (started_ - completed_ == depth_) {
            complete(tier, latencies);
            mrz::app::throw_if_interrupted();
        }
        // Those that follow one another, up to the end of the numbers; one by one where that is as good.
        const std::size_t most =
            std::min({operations.size(), depth_ - (started_ - completed_), depth_ - started_ % depth_});
        const std::size_t count = tier.takes_many() ? most : 1;
        start(tier, operations.first(count));
        operations = operations.subspan(count);
    }
}

void Traffic::drain(Tier& tier)
{
    while (started_ != completed_)
        complete(tier, nullptr);
}

void Traffic::start(Tier& tier, std::span<const Operation> operations)
{
    const std::size_t first = started_ % depth_;
    const std::span<Use> uses = std::span{uses_}.subspan(first, operations.size());
    const auto now = Clock::now();
    for (std::size_t i = 0; i < operations.size(); ++i) {
        uses[i].memory = memory_.subspan(operations[i].block * block_size_, block_size_);
        begun_[first + i] = now;
    }
    tier.acquire(uses, first);
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const Operation& one = operations[i];
        const mrz::Segment segment{uses[i].iova, static_cast<std::uint32_t>(block_size_), uses[i].lkey};
        near_->post_send({.id = first + i,
                          .opcode = one.write ? mrz::Opcode::rdma_write : mrz::Opcode::rdma_read,
                          .segments = {&segment, 1},
                          .fence = one.fence,
                          .remote_iova = store_ + one.block * block_size_,
                          .rkey = store_key_});
        ++started_;
    }
}

void Traffic::complete(Tier& tier, std::vector<std::uint32_t>* latencies)
{
    constexpr std::chrono::seconds patience{10};
    std::array<mrz::Completion, 64> completions;
    std::optional<Clock::time_point> deadline;
    std::size_t count = 0;
    while ((count = near_->poll(completions)) == 0) {
        const auto now = Clock::now();
        if (!deadline)
            deadline = now + patience;
        else if (now > *deadline)
            throw mrz::Error{ETIMEDOUT,
                             {.trouble = mrz::Trouble::unsupported,
                              .what = "waiting for the device to do its work",
                              .limit = "seconds",
                              .present = static_cast<std::uint64_t>(patience.count()),
                              .remedy = "check the device's link"}};
    }
    const auto now = Clock::now();
    for (const mrz::Completion& one : std::span{completions}.first(count)) {
        const std::size_t number = completed_ % depth_;
        if (one.status != mrz::WcStatus::success)
            throw std::runtime_error{"an operation failed: " + std::string{to_string(one.status)}};
        if (one.id != number)
            throw std::runtime_error{"operations did not complete in their order"};
        if (latencies != nullptr)
            latencies->push_back(nanoseconds(now - begun_[number]));
        tier.release(number);
        ++completed_;
    }
    tier.quiescent();
}

} // namespace bench::storage

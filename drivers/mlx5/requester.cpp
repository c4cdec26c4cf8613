// SPDX-License-Identifier: BSD-3-Clause
#include "requester.hpp"

#include <infiniband/mlx5dv.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

namespace mrz::mlx5 {
namespace {

//! So that the longest request fits into a place of the queue: libmlx5 makes places for what it writes itself, 36
//! bytes and these.
constexpr std::uint32_t inline_bytes = 128 + most_movable_entries * 16 - 36;
constexpr std::uint32_t most_requests = 4; // a key that is freed and filled takes two

//! Whoever asks for a queue pair without a builder, as is done where the first was refused, gets one all the same:
//! requests go nowhere else.
ibv_qp* make_queue_pair(ibv_context* context, ibv_qp_init_attr_ex* attributes)
{
    attributes->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    mlx5dv_qp_init_attr also{};
    also.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
    also.send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE;
    return ::mlx5dv_create_qp(context, attributes, &also);
}

} // namespace

verbs::VerbsQueuePair& Requester::queue_pair()
{
    if (!queue_pair_) {
        auto made = std::make_unique<verbs::VerbsQueuePair>(
            pd_,
            QueuePairOptions{
                .send_requests = most_requests, .receive_requests = 1, .segments = 1, .inline_bytes = inline_bytes},
            make_queue_pair);
        made->initialize(0); // what comes in is from nobody that it serves, whatever rkey that has
        made->connect(made->local());
        queue_pair_ = std::move(made);
    }
    return *queue_pair_;
}

void Requester::prepare()
{
    const std::scoped_lock guard{mutex_};
    static_cast<void>(queue_pair());
}

void Requester::free(std::uint32_t mkey)
{
    const std::scoped_lock guard{mutex_};
    run_freeing(mkey);
}

void Requester::try_to_free(std::uint32_t mkey)
{
    const std::scoped_lock guard{mutex_};
    if (was_late_)
        throw failure(mkey, "the adapter did not do the last request in time");
    run_freeing(mkey);
}

void Requester::run_freeing(std::uint32_t mkey)
{
    std::array requests{request_freeing(queue_pair().get()->qp_num, mkey)};
    run(requests, mkey);
}

void Requester::fill(const Filling& filling, bool leads)
{
    const std::scoped_lock guard{mutex_};
    const std::uint32_t number = queue_pair().get()->qp_num;
    std::array requests{request_freeing(number, filling.mkey), request_filling(number, filling)};
    run(std::span{requests}.subspan(leads ? 0 : 1), filling.mkey);
}

int Requester::wait(ibv_cq* queue, ibv_wc& completion) const
{
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    for (;;) {
        // It is looked at once more after the time is up: what took so long may be that this thread was stopped.
        const bool late = std::chrono::steady_clock::now() >= deadline;
        const int count = ::ibv_poll_cq(queue, 1, &completion);
        if (count != 0 || late)
            return count;
    }
}

void Requester::run(std::span<std::vector<std::byte>> requests, std::uint32_t mkey)
{
    signal(requests.back());
    // Unless all goes well it takes no more, and the next request makes another: what ends late, or was flushed, is
    // not to be taken for the end of that.
    auto used = std::move(queue_pair_);
    ibv_qp* const plain = used->get();
    ibv_qp_ex* const builder = ::ibv_qp_to_qp_ex(plain);
    ::ibv_wr_start(builder);
    for (const std::vector<std::byte>& request : requests)
        ::mlx5dv_wr_raw_wqe(::mlx5dv_qp_ex_from_ibv_qp_ex(builder), request.data());
    std::string why;
    if (const int error = ::ibv_wr_complete(builder); error != 0) {
        why = std::string{"libmlx5: "} + std::strerror(error);
    } else {
        ibv_wc completion{};
        const int count = wait(plain->send_cq, completion);
        was_late_ = count == 0;
        if (count < 0)
            why = "its completion queue cannot be polled";
        else if (count == 0)
            why = "the adapter did not tell that it was done within " + std::to_string(patience_.count()) + " ms";
        else if (completion.status != IBV_WC_SUCCESS)
            why = std::string{"the request ended with "} + ::ibv_wc_status_str(completion.status);
    }
    if (why.empty()) {
        queue_pair_ = std::move(used);
        return;
    }
    throw failure(mkey, std::move(why));
}

Error Requester::failure(std::uint32_t mkey, std::string why) const
{
    return Error{
        EIO,
        {.trouble = Trouble::internal,
         .what = "changing key " + format_hex(mkey) + " of device " + pd_->context()->name(),
         .limit = std::move(why),
         .remedy = "look at the kernel's log (dmesg); where it goes on, register regions for peers instead"}};
}

} // namespace mrz::mlx5

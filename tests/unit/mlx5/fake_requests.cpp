// SPDX-License-Identifier: BSD-3-Clause
#include "fake_requests.hpp"

#include "fake_mlx5.hpp"
#include "support/allocations.hpp"

#include <layouts/memory.hpp>
#include <layouts/wqe.hpp>

#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mrz::mlx5::test {
namespace {

namespace head = layouts::wqe_ctrl_seg;
namespace control = layouts::wqe_umr_ctrl_seg;
namespace context = layouts::mkey_seg;
namespace in = layouts::create_mkey_in;
namespace mkc = layouts::mkc;

struct CompletionQueue : ibv_cq {
    std::deque<ibv_wc> ended;
};

struct QueuePair : mlx5dv_qp_ex {
    ibv_qp_ex builder{};
    bool has_builder = false;
    std::vector<std::vector<std::byte>> posted;
};

//! An adapter has memory of its own.
class Adapter {
  public:
    Adapter() : left_{std::exchange(mrz::test::allocations_left, std::nullopt)} {}
    Adapter(const Adapter&) = delete;
    Adapter& operator=(const Adapter&) = delete;
    ~Adapter() { mrz::test::allocations_left = left_; }

  private:
    std::optional<unsigned> left_;
};

QueuePair& of(ibv_qp* plain)
{
    return *static_cast<QueuePair*>(plain->qp_context);
}

int query_port(ibv_context* /*context*/, std::uint8_t /*number*/, ibv_port_attr* attributes, std::size_t /*size*/)
{
    *attributes = {};
    attributes->state = fake_requests().port_is_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    attributes->active_mtu = IBV_MTU_4096;
    attributes->lid = 1;
    attributes->link_layer = IBV_LINK_LAYER_INFINIBAND;
    return 0;
}

ibv_wc_status carry_out(std::span<const std::byte> request)
{
    const std::scoped_lock guard{fake().mutex};
    if (const ibv_wc_status status = fake_requests().fault ? fake_requests().fault() : IBV_WC_SUCCESS;
        status != IBV_WC_SUCCESS)
        return status;
    const std::uint64_t value = layouts::get(request, head::imm);
    const auto at = std::ranges::find_if(fake().keys, [&](const FakeKey* key) { return key->index == value >> 8; });
    if (at == fake().keys.end())
        return IBV_WC_MW_BIND_ERR;
    FakeKey& key = const_cast<FakeKey&>(**at); // others only look at it
    const auto changes = request.subspan(head::bytes, control::bytes);
    const auto from = request.subspan(head::bytes + control::bytes, context::bytes);
    const auto into = layouts::part(std::span{key.command}, in::memory_key_mkey_entry);
    const std::uint64_t mask = layouts::get(changes, control::mkey_mask);
    const bool must_be_free = (layouts::get(changes, control::flags) & layouts::umr_fail_if_not_free) != 0;
    if (!layouts::is_set(into, mkc::umr_en) || layouts::get(into, mkc::mkey_7_0) != (value & 0xff) ||
        (must_be_free && !layouts::is_set(into, mkc::free)))
        return IBV_WC_MW_BIND_ERR;
    const auto copy = [&](std::uint64_t bit, layouts::Field field, layouts::Field to) {
        if ((mask & bit) != 0)
            layouts::set(into, to, layouts::get(from, field));
    };
    copy(layouts::umr_mask::free, context::free, mkc::free);
    copy(layouts::umr_mask::key, context::mkey_7_0, mkc::mkey_7_0);
    copy(layouts::umr_mask::start_addr, context::start_addr, mkc::start_addr);
    copy(layouts::umr_mask::len, context::len, mkc::len);
    key.below.clear();
    if (layouts::is_set(from, context::free)) {
        ++fake_requests().freed;
        return IBV_WC_SUCCESS;
    }
    ++fake_requests().filled;
    const auto list = request.subspan(head::bytes + control::bytes + context::bytes);
    key.command.resize(in::bytes);
    key.command.insert(key.command.end(), list.begin(), list.end());
    for (std::size_t entry = 0; entry < list.size(); entry += layouts::klm::bytes)
        for (const FakeKey* const below : fake().keys)
            if (below->index == layouts::get(list.subspan(entry), layouts::klm::key) >> 8)
                key.below.insert(below);
    return IBV_WC_SUCCESS;
}

void start(ibv_qp_ex* /*builder*/) {}

//! What no fence holds back is first.
void reorder(std::vector<std::vector<std::byte>>& requests)
{
    const unsigned holds =
        fake_requests().small_fence_suffices ? layouts::wqe_fence_small : layouts::wqe_fence_strong;
    for (std::size_t i = 1; i < requests.size(); ++i)
        if (layouts::get(requests[i], head::fm_ce_se) >> layouts::wqe_fence_shift < holds)
            std::swap(requests[i - 1], requests[i]);
}

//! The first that fails ends the others.
int complete(ibv_qp_ex* builder)
{
    const Adapter adapter;
    QueuePair& pair = of(&builder->qp_base);
    reorder(pair.posted);
    auto& queue = static_cast<CompletionQueue&>(*builder->qp_base.send_cq);
    for (bool failed = false; const std::vector<std::byte>& request : pair.posted) {
        const ibv_wc_status status = failed ? IBV_WC_WR_FLUSH_ERR : carry_out(request);
        failed = status != IBV_WC_SUCCESS;
        const bool asked = (layouts::get(request, head::fm_ce_se) >> layouts::wqe_completion_shift & 3) >= 2;
        if (failed || asked) {
            ibv_wc completion{};
            completion.status = status;
            queue.ended.push_back(completion);
        }
    }
    pair.posted.clear();
    return 0;
}

void post(mlx5dv_qp_ex* queue_pair, const void* request)
{
    const Adapter adapter;
    const auto* const bytes = static_cast<const std::byte*>(request);
    const std::size_t length = layouts::get(std::span{bytes, head::bytes}, head::ds) * layouts::send_wqe_ds;
    static_cast<QueuePair*>(queue_pair)->posted.emplace_back(bytes, bytes + length);
}

int poll(ibv_cq* queue, int /*most*/, ibv_wc* completion)
{
    auto& ended = static_cast<CompletionQueue*>(queue)->ended;
    const bool seen = !fake_requests().seen || fake_requests().seen();
    if (!seen || ended.empty())
        return 0;
    *completion = ended.front();
    ended.pop_front();
    return 1;
}

} // namespace

FakeRequests& fake_requests()
{
    static FakeRequests the_fake;
    return the_fake;
}

std::shared_ptr<verbs::Pd> fake_pd()
{
    static ibv_pd pd{};
    auto of_device = fake_context();
    pd.context = of_device->get();
    pd.context->ops.poll_cq = poll;
    ::verbs_get_ctx(pd.context)->query_port = query_port;
    return std::make_shared<verbs::Pd>(std::move(of_device), &pd);
}

} // namespace mrz::mlx5::test

using namespace mrz::mlx5::test;

ibv_cq* ibv_create_cq(ibv_context* context, int /*cqe*/, void* /*cq_context*/, ibv_comp_channel* /*channel*/,
                      int /*comp_vector*/)
{
    auto* const made = new CompletionQueue{};
    made->context = context;
    return made;
}

int ibv_destroy_cq(ibv_cq* cq)
{
    delete static_cast<CompletionQueue*>(cq);
    return 0;
}

ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* qp_attr, mlx5dv_qp_init_attr* /*mlx5_qp_attr*/)
{
    if (fake_requests().refusals != 0) {
        --fake_requests().refusals;
        errno = ENOMEM;
        return nullptr;
    }
    auto* const made = new QueuePair{};
    made->wr_raw_wqe = post;
    made->builder.wr_start = start;
    made->builder.wr_complete = complete;
    made->has_builder = (qp_attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    made->builder.qp_base.context = context;
    made->builder.qp_base.qp_context = made;
    made->builder.qp_base.send_cq = qp_attr->send_cq;
    made->builder.qp_base.qp_num = 77;
    ++fake_requests().queue_pairs;
    return &made->builder.qp_base;
}

int ibv_destroy_qp(ibv_qp* qp)
{
    --fake_requests().queue_pairs;
    delete &of(qp);
    return 0;
}

int ibv_modify_qp(ibv_qp* /*qp*/, ibv_qp_attr* attr, int attr_mask)
{
    if ((attr_mask & IBV_QP_ACCESS_FLAGS) != 0)
        fake_requests().peer_access |= static_cast<unsigned>(attr->qp_access_flags);
    return 0;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp)
{
    return of(qp).has_builder ? &of(qp).builder : nullptr;
}

mlx5dv_qp_ex* mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_ex* qp)
{
    return &of(&qp->qp_base);
}

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Another key to memory that is pinned already, by an adapter of mlx5: by a command that makes it, as the driver
//! does, beside a work request that makes a key lead elsewhere (UMR), which the driver leaves to others: see
//! doc/architecture.md.
#include "machine.hpp"
#include "subject.hpp"
#include "touched_memory.hpp"

#include <mrzone/region.hpp>

#include <infiniband/mlx5dv.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace bench {

namespace {

constexpr std::size_t length = 1_MiB;
constexpr std::size_t piece = 4_KiB;

//! The first adapter that the driver has, or none.
std::optional<std::string> adapter()
{
    for (const mrz::Driver& driver : mrz::drivers())
        if (driver.name == "mlx5")
            if (const auto all = driver.list(); !all.empty())
                return all.front();
    return std::nullopt;
}

template <class Object, int (*destroy)(Object*)>
struct Destroy {
    void operator()(Object* object) const noexcept { static_cast<void>(destroy(object)); }
};
template <class Object, int (*destroy)(Object*)>
using Owned = std::unique_ptr<Object, Destroy<Object, destroy>>;

template <class Object>
Object* made(Object* object, const char* what)
{
    if (object == nullptr)
        throw std::system_error{errno, std::generic_category(), what};
    return object;
}

void done(int error, const char* what)
{
    if (error != 0)
        throw std::system_error{error, std::generic_category(), what};
}

//! A queue pair that is connected to itself, and may make keys lead elsewhere.
class Requester {
  public:
    Requester(ibv_context* context, ibv_pd* pd) : cq_{made(::ibv_create_cq(context, 16, nullptr, nullptr, 0), "a CQ")}
    {
        ibv_qp_init_attr_ex wanted{};
        wanted.send_cq = wanted.recv_cq = cq_.get();
        wanted.qp_type = IBV_QPT_RC;
        wanted.cap = {
            .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 256};
        wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        wanted.pd = pd;
        wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
        mlx5dv_qp_init_attr mlx5_wanted{};
        mlx5_wanted.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
        mlx5_wanted.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST;
        qp_.reset(made(::mlx5dv_create_qp(context, &wanted, &mlx5_wanted), "a queue pair"));
        connect(context);
    }

    //! Makes \p mkey lead to the memory, and waits until it does.
    void retarget(mlx5dv_mkey& mkey, ibv_sge memory)
    {
        ibv_qp_ex* const qp = ::ibv_qp_to_qp_ex(qp_.get());
        ::ibv_wr_start(qp);
        qp->wr_id = 1;
        qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
        ::mlx5dv_wr_mr_list(::mlx5dv_qp_ex_from_ibv_qp_ex(qp), &mkey, IBV_ACCESS_REMOTE_READ, 1, &memory);
        done(::ibv_wr_complete(qp), "posting");
        ibv_wc completion{};
        int count = 0;
        while (count == 0)
            count = ::ibv_poll_cq(cq_.get(), 1, &completion);
        if (count < 0 || completion.status != IBV_WC_SUCCESS)
            throw std::runtime_error{"the request ended with status " + std::to_string(completion.status)};
    }

  private:
    void connect(ibv_context* context)
    {
        ibv_port_attr port{};
        done(::ibv_query_port(context, 1, &port), "asking the port");
        ibv_qp_attr to{};
        to.qp_state = IBV_QPS_INIT;
        to.port_num = 1;
        done(::ibv_modify_qp(qp_.get(), &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
             "INIT");
        to.qp_state = IBV_QPS_RTR;
        to.path_mtu = IBV_MTU_1024;
        to.dest_qp_num = qp_->qp_num;
        to.max_dest_rd_atomic = 1;
        to.min_rnr_timer = 1;
        to.ah_attr.port_num = 1;
        to.ah_attr.dlid = port.lid;
        if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
            to.ah_attr.is_global = 1;
            to.ah_attr.grh.hop_limit = 1;
            done(::ibv_query_gid(context, 1, 0, &to.ah_attr.grh.dgid), "asking for the GID");
        }
        done(::ibv_modify_qp(qp_.get(), &to,
                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
             "RTR");
        to.qp_state = IBV_QPS_RTS;
        to.timeout = 14;
        to.retry_cnt = 7;
        to.rnr_retry = 7;
        to.max_rd_atomic = 1;
        done(::ibv_modify_qp(qp_.get(), &to,
                             IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                 IBV_QP_MAX_QP_RD_ATOMIC),
             "RTS");
    }

    Owned<ibv_cq, ::ibv_destroy_cq> cq_;
    Owned<ibv_qp, ::ibv_destroy_qp> qp_;
};

void create(benchmark::State& state, const std::string& device)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, length};
        const auto domain = domain_of("mlx5:" + device);
        const auto pinned = domain.register_memory(memory.bytes());
        std::size_t at = 0;
        for ([[maybe_unused]] auto iteration : state) {
            const auto region =
                domain.register_memory(memory.bytes().subspan(at, piece), mrz::Access::remote_read,
                                       {.how = {.sharing = mrz::Sharing::always}, .looked_up = false});
            benchmark::DoNotOptimize(region.rkey());
            at = (at + piece) % length;
        }
    });
}

void reissue(benchmark::State& state, const std::string& device)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, length};
        auto region = domain_of("mlx5:" + device).register_memory(memory.bytes(), mrz::Access::remote_read);
        for ([[maybe_unused]] auto iteration : state)
            benchmark::DoNotOptimize(region.reissue());
    });
}

void retarget(benchmark::State& state, const std::string& device)
{
    run(state, [&] {
        const TouchedMemory memory{Pages::small, length};
        int count = 0;
        ibv_device** const devices = made(::ibv_get_device_list(&count), "the devices");
        ibv_device* wanted = nullptr;
        for (int i = 0; i < count; ++i)
            if (device == ::ibv_get_device_name(devices[i]))
                wanted = devices[i];
        mlx5dv_context_attr attributes{};
        attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
        const Owned<ibv_context, ::ibv_close_device> context{
            wanted != nullptr ? ::mlx5dv_open_device(wanted, &attributes) : nullptr};
        ::ibv_free_device_list(devices);
        made(context.get(), "opening it");
        const Owned<ibv_pd, ::ibv_dealloc_pd> pd{made(::ibv_alloc_pd(context.get()), "a protection domain")};
        const Owned<ibv_mr, ::ibv_dereg_mr> pinned{made(
            ::ibv_reg_mr(pd.get(), memory.bytes().data(), length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
            "registering")};
        mlx5dv_mkey_init_attr init{
            .pd = pd.get(), .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 4};
        const Owned<mlx5dv_mkey, ::mlx5dv_destroy_mkey> mkey{made(::mlx5dv_create_mkey(&init), "a key")};
        Requester requester{context.get(), pd.get()};
        std::size_t at = 0;
        for ([[maybe_unused]] auto iteration : state) {
            requester.retarget(*mkey, {.addr = reinterpret_cast<std::uintptr_t>(memory.bytes().data()) + at,
                                       .length = static_cast<std::uint32_t>(piece),
                                       .lkey = pinned->lkey});
            at = (at + piece) % length;
        }
    });
}

[[maybe_unused]] const bool subjects = [] {
    const auto device = adapter();
    if (!device)
        return false;
    using Subject = void (*)(benchmark::State&, const std::string&);
    for (const auto& [name, subject] : {std::pair<const char*, Subject>{"rekey/mlx5/create", create},
                                        {"rekey/mlx5/reissue", reissue},
                                        {"rekey/mlx5/umr", retarget}})
        benchmark::RegisterBenchmark(name, subject, *device)->Iterations(200)->Unit(benchmark::kMicrosecond);
    return true;
}();

} // namespace

} // namespace bench

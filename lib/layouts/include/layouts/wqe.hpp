// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Work queue entries: the segments that they are made of. Names are those of the structures in Linux's
//! include/linux/mlx5/qp.h, mlx5_wqe_ctrl_seg is wqe_ctrl_seg here, and a test compares the two.
#pragma once

#include "layouts/field.hpp"

#include <cstddef>
#include <cstdint>

namespace mrz::layouts {

//! A send queue is made of these; an entry takes as many as it needs, 16 at most.
inline constexpr std::size_t send_wqe_bb = 64;
//! An entry's length is counted in these.
inline constexpr std::size_t send_wqe_ds = 16;
inline constexpr std::size_t most_send_wqe_bbs = 16;

//! MLX5_OPCODE_… of include/linux/mlx5/device.h.
enum class WqeOpcode : std::uint8_t {
    nop = 0x00,
    send_inval = 0x01,
    rdma_write = 0x08,
    rdma_write_imm = 0x09,
    send = 0x0a,
    send_imm = 0x0b,
    tso = 0x0e, //!< A send of more than a packet.
    rdma_read = 0x10,
    atomic_cs = 0x11,
    atomic_fa = 0x12,
    umr = 0x25,
};

//! The first 16 bytes of every entry of a send queue.
namespace wqe_ctrl_seg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field opmod{0, 8};
inline constexpr Field wqe_index{8, 16};
inline constexpr Field opcode{24, 8};
inline constexpr Field qpn{32, 24};
inline constexpr Field ds{58, 6}; //!< All of the entry, in units of 16 bytes.
inline constexpr Field signature{64, 8};
inline constexpr Field fm_ce_se{88, 8};
inline constexpr Field imm{96, 32}; //!< For UMR: umr_mkey.
} // namespace wqe_ctrl_seg

//! Of fm_ce_se.
inline constexpr unsigned wqe_solicited = 1U << 1;
inline constexpr unsigned wqe_completion_shift = 2; //!< Two bits; 2 and 3 ask for a completion always.
inline constexpr unsigned wqe_fence_shift = 5;      //!< Three bits.
inline constexpr unsigned wqe_fence_small = 1;      //!< Fences less than fence: 1 is for invalidations.
inline constexpr unsigned wqe_fence_strong = 3;     //!< Begins when all before it has ended.

//! Where a request works on its peer's memory.
namespace wqe_raddr_seg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field raddr{0, 64};
inline constexpr Field rkey{64, 32};
} // namespace wqe_raddr_seg

namespace wqe_atomic_seg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field swap_add{0, 64};
inline constexpr Field compare{64, 64};
} // namespace wqe_atomic_seg

//! A piece of memory.
namespace wqe_data_seg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field byte_count{0, 32};
inline constexpr Field lkey{32, 32};
inline constexpr Field addr{64, 64};
} // namespace wqe_data_seg

//! Instead of a piece of memory: the bytes themselves follow, padded to 16.
namespace wqe_inline_seg {
inline constexpr std::size_t bytes = 4;
inline constexpr Field is_inline{0, 1};
inline constexpr Field byte_count{22, 10};
} // namespace wqe_inline_seg

//! A list of pieces ends before its room does with this key and a count of 0 (MLX5_INVALID_LKEY, and
//! MLX5_TERMINATE_SCATTER_LIST_LKEY; what QUERY_SPECIAL_CONTEXTS tells is this one, too).
inline constexpr std::uint32_t terminate_scatter_list_key = 0x100;
//! A count of 0 with any other key.
inline constexpr std::uint64_t most_bytes_of_a_piece = std::uint64_t{1} << 31;

//! Where a datagram goes.
namespace av {
inline constexpr std::size_t bytes = 48;
inline constexpr Field qkey{0, 32};
inline constexpr Field extended{64, 1}; //!< Otherwise there are 16 bytes of it only.
inline constexpr Field dqp_dct{72, 24};
inline constexpr Field stat_rate{96, 4};
inline constexpr Field sl{100, 4};
inline constexpr Field fl{104, 1};
inline constexpr Field mlid{105, 7};
inline constexpr Field rlid{112, 16};
inline constexpr Block rmac{20, 6};
inline constexpr Field tclass{208, 8};
inline constexpr Field hop_limit{216, 8};
inline constexpr Field grh{225, 1}; //!< With an address in rgid. (libmlx5 sets bit 30 of grh_gid_fl for it.)
inline constexpr Field src_addr_index{228, 8};
inline constexpr Field flow_label{236, 20};
inline constexpr Block rgid{32, 16};
} // namespace av

//! The first entry's part of a shared receive queue: which one is next.
namespace wqe_srq_next_seg {
inline constexpr std::size_t bytes = 16;
inline constexpr Field next_wqe_index{16, 16};
} // namespace wqe_srq_next_seg

// ---- Changing keys (UMR) ----------------------------------------------------------------------------------------

namespace wqe_umr_ctrl_seg {
inline constexpr std::size_t bytes = 48;
inline constexpr Field flags{0, 8};
inline constexpr Field xlt_octowords{32, 16};
inline constexpr Field xlt_offset{48, 16}; //!< Without umr_translation_offset: bsf_octowords.
inline constexpr Field mkey_mask{64, 64};
inline constexpr Field xlt_offset_47_16{128, 32};
} // namespace wqe_umr_ctrl_seg

//! Of flags; MLX5_UMR_… of the kernel's drivers/infiniband/hw/mlx5/mlx5_ib.h and umr.h.
inline constexpr unsigned umr_translation_offset = 1U << 4;
inline constexpr unsigned umr_fail_if_not_free = 1U << 5;
inline constexpr unsigned umr_fail_if_free = 1U << 6;
inline constexpr unsigned umr_inline = 1U << 7;

//! What a mask changes; MLX5_MKEY_MASK_… of include/linux/mlx5/device.h.
namespace umr_mask {
inline constexpr std::uint64_t len = 1ULL << 0;
inline constexpr std::uint64_t page_size = 1ULL << 1;
inline constexpr std::uint64_t start_addr = 1ULL << 6;
inline constexpr std::uint64_t pd = 1ULL << 7;
inline constexpr std::uint64_t en_rinval = 1ULL << 8;
inline constexpr std::uint64_t key = 1ULL << 13;
inline constexpr std::uint64_t qpn = 1ULL << 14;
inline constexpr std::uint64_t lr = 1ULL << 17;
inline constexpr std::uint64_t lw = 1ULL << 18;
inline constexpr std::uint64_t rr = 1ULL << 19;
inline constexpr std::uint64_t rw = 1ULL << 20;
inline constexpr std::uint64_t a = 1ULL << 21;
inline constexpr std::uint64_t small_fence = 1ULL << 23;
inline constexpr std::uint64_t relaxed_ordering_write = 1ULL << 25;
inline constexpr std::uint64_t free = 1ULL << 29;
inline constexpr std::uint64_t page_size_5 = 1ULL << 42; //!< The fifth bit of the page size.
inline constexpr std::uint64_t relaxed_ordering_read = 1ULL << 47;
} // namespace umr_mask

//! A key's context as it is in a work request.
namespace mkey_seg {
inline constexpr std::size_t bytes = 64;
inline constexpr Field free{1, 1};
inline constexpr Field flags{16, 8};
inline constexpr Field a{17, 1};
inline constexpr Field rw{18, 1};
inline constexpr Field rr{19, 1};
inline constexpr Field lw{20, 1};
inline constexpr Field lr{21, 1};
inline constexpr Field access_mode_1_0{22, 2};
inline constexpr Field qpn{32, 24};
inline constexpr Field mkey_7_0{56, 8};
inline constexpr Field length64{96, 1};
inline constexpr Field pd{104, 24};
inline constexpr Field start_addr{128, 64};
inline constexpr Field len{192, 64};
inline constexpr Field bsfs_octo_size{256, 32};
inline constexpr Field xlt_oct_size{416, 32};
inline constexpr Field log2_page_size{474, 6};
} // namespace mkey_seg

//! A page of a key.
namespace mtt {
inline constexpr std::size_t bytes = 8;
inline constexpr std::uint64_t flags = 0x7; //!< The low bits of ptag, which are no address.
} // namespace mtt

//! A piece of another key; without the count it is a KSM.
namespace klm {
inline constexpr std::size_t bytes = 16;
inline constexpr Field bcount{0, 32};
inline constexpr Field key{32, 32};
inline constexpr Field va{64, 64};
} // namespace klm

} // namespace mrz::layouts

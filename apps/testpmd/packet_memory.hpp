// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The pools that packets live in.
#pragma once

#include "port_device.hpp"

#include "common/arena_pages.hpp"

#include <mrzone/zone.hpp>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::testpmd {

//! Where the memory of packets comes from.
enum class PoolKind {
    arena,        //!< Whole pools in an arena.
    arena_extbuf, //!< Data in a zone of an arena, as pinned external buffers, and the rest of the pool beside it.
    native,       //!< As DPDK does by itself.
};
std::string_view to_string(PoolKind kind) noexcept;

struct MemoryOptions {
    PoolKind kind = PoolKind::arena;
    std::size_t page_size = std::size_t{2} << 20;
    std::uint32_t buffers = 0;                             //!< 0: what the queues can hold, and what lcores keep.
    std::uint16_t buffer_size = RTE_MBUF_DEFAULT_BUF_SIZE; //!< Bytes, headroom included.
    std::uint32_t cache = 250;                             //!< Buffers that an lcore keeps for itself.
    bool may_add_pages = false;                            //!< To the page pool, for as long as the program runs.
    std::optional<std::string> device = {};                //!< Whose domain the arena is registered in.
};

struct PacketPool {
    struct Free {
        void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
    };
    PoolKind kind = PoolKind::native;
    std::unique_ptr<rte_mempool, Free> pool;
};

//! All packet memory of the program: one pool, since ports forward to one another, and an arena for the kinds that
//! need one. Owns it, and is to be destroyed when no port can use it any more, and before the EAL's end.
class PacketMemory {
  public:
    //! \p buffers is how many the pool has where the options leave it open. It is native, which is said, where the
    //! peer of a port can see no other.
    //! Throws Error: as Arena::build(), hugepages; unsupported (ENOTSUP) for a port that cannot take the kind.
    PacketMemory(const MemoryOptions& options, const std::vector<PortDevice>& ports, std::uint32_t buffers);
    ~PacketMemory();
    PacketMemory(const PacketMemory&) = delete;
    PacketMemory& operator=(const PacketMemory&) = delete;

    [[nodiscard]] const PacketPool& packets() const noexcept { return packets_; }
    //! None where the pool is native.
    [[nodiscard]] Arena* arena() noexcept { return arena_ ? &*arena_ : nullptr; }
    //! In which the arena is registered.
    [[nodiscard]] const std::optional<Domain>& domain() const noexcept { return domain_; }

  private:
    void build_arena(PoolKind kind, const MemoryOptions& options, std::uint32_t buffers, std::optional<int> node);
    void make_pool(PoolKind kind, const MemoryOptions& options, std::uint32_t buffers);

    std::optional<Domain> domain_;
    std::optional<app::ArenaPages> pages_;
    std::optional<app::TemporaryPool> native_pages_;
    std::optional<Arena> arena_;
    std::optional<Zone> data_; //!< Of external buffers.
    PacketPool packets_;
};

} // namespace mrz::testpmd

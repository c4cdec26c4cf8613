// SPDX-License-Identifier: BSD-3-Clause
#include "packet_memory.hpp"

#include "external_buffers.hpp"
#include "pool_bytes.hpp"

#include "common/output.hpp"
#include "common/process_limits.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>

namespace mrz::testpmd {
namespace {

// Of every port's pool: ports forward to one another.
PoolKind kind_for_all(const std::vector<PortDevice>& ports, const MemoryOptions& options)
{
    if (options.kind == PoolKind::native)
        return options.kind;
    if (const auto sharing = std::ranges::find_if(ports, shares_memory_by_table); sharing != ports.end()) {
        if (options.device)
            throw Error{ENOTSUP,
                        Cause{.trouble = Trouble::unsupported,
                              .what = fmt::format("an arena in a domain of {} (--domain)", *options.device),
                              .limit = fmt::format("the peer of port {} ({}) cannot see an arena, and ports forward "
                                                   "to one another",
                                                   sharing->port, sharing->driver),
                              .remedy = "leave out --domain, or that port"}};
        app::say("all ports get a native pool: the peer of port {} ({}) cannot see an arena", sharing->port,
                 sharing->driver);
        return PoolKind::native;
    }
    const auto refusing = std::ranges::find_if_not(ports, takes_external_buffers);
    if (refusing != ports.end() && options.kind == PoolKind::arena_extbuf)
        throw Error{ENOTSUP, Cause{.trouble = Trouble::unsupported,
                                   .what = fmt::format("packets of port {} ({}) in external buffers", refusing->port,
                                                       refusing->driver),
                                   .limit = "it makes the pool's own memory its ring",
                                   .remedy = "give --mp-alloc=arena or --mp-alloc=native"}};
    return options.kind;
}

std::size_t arena_bytes(PoolKind kind, const MemoryOptions& options, std::uint32_t buffers)
{
    // The heap's pages are header pages' size, whatever the block's are.
    constexpr std::size_t heap_page = Window::header_size;
    const std::size_t bytes =
        kind == PoolKind::arena
            ? pool_bytes(buffers, sizeof(rte_mbuf) + options.buffer_size, heap_page)
            : pool_bytes(buffers, external_object_size, heap_page) + external_bytes(buffers, options.buffer_size);
    return (bytes + options.page_size - 1) / options.page_size * options.page_size;
}

[[noreturn]] void refuse_pool(PoolKind kind, std::uint32_t buffers, std::size_t bytes)
{
    const int error_number = rte_errno > 0 ? rte_errno : ENOMEM;
    const std::string fewer = "give a smaller --total-num-mbufs";
    throw Error{
        error_number,
        Cause{.trouble = Trouble::hugepages,
              .what = fmt::format("a pool of {} buffers ({})", buffers, to_string(kind)),
              .limit = fmt::format("DPDK answers \"{}\"; bytes of pages that are free", rte_strerror(error_number)),
              .present = read_pool(native_page_size).available() * native_page_size,
              .need = bytes,
              .remedy = kind == PoolKind::native ? how_to_give(bytes) + "; or " + fewer : fewer}};
}

} // namespace

std::string_view to_string(PoolKind kind) noexcept
{
    switch (kind) {
    case PoolKind::arena:
        return "arena";
    case PoolKind::arena_extbuf:
        return "arena-extbuf";
    case PoolKind::native:
        return "native";
    }
    return "unknown";
}

PacketMemory::PacketMemory(const MemoryOptions& options, const std::vector<PortDevice>& ports, std::uint32_t buffers)
{
    if (options.buffers != 0)
        buffers = options.buffers;
    const PoolKind kind = kind_for_all(ports, options);
    if (kind != PoolKind::native)
        build_arena(kind, options, buffers, common_node(ports));
    make_pool(kind, options, buffers);
}

PacketMemory::~PacketMemory() = default;

void PacketMemory::build_arena(PoolKind kind, const MemoryOptions& options, std::uint32_t buffers,
                               std::optional<int> node)
{
    read_pool(options.page_size, node); // refuses a page size that this kernel lacks
    const std::size_t size = arena_bytes(kind, options, buffers);
    ArenaOptions arena{.size = size, .page_size = options.page_size, .node = node};
    if (options.device) {
        domain_ = Domain::open(*options.device);
        arena.domains = {*domain_};
    }
    pages_.emplace(app::reserve_for_arena(size, options.page_size, node));
    arena.surplus = app::surplus_for(size, options.page_size, node);
    app::ProgressBar bar{"zeroing pages"};
    arena.progress = [&bar](const BuildProgress& progress) {
        app::throw_if_interrupted();
        bar.update(progress.taken, progress.wanted);
    };
    arena_ = Arena::build("testpmd", arena);
}

void PacketMemory::make_pool(PoolKind kind, const MemoryOptions& options, std::uint32_t buffers)
{
    const int socket = kind == PoolKind::native ? SOCKET_ID_ANY : arena_->socket_id();
    const std::string name = fmt::format("testpmd_{}", to_string(kind));
    const std::size_t bytes = pool_bytes(buffers, sizeof(rte_mbuf) + options.buffer_size, native_page_size);
    if (kind == PoolKind::native && options.may_add_pages) {
        app::check_open_files(native_pages(bytes));
        native_pages_.emplace(native_page_size, std::nullopt, native_pages(bytes));
        Window::preflight({.size = native_pages(bytes) * native_page_size, .page_size = native_page_size});
    }
    rte_mempool* pool = nullptr;
    if (kind == PoolKind::arena_extbuf) {
        data_ = arena_->reserve("testpmd_data", external_bytes(buffers, options.buffer_size), Access::local_write,
                                Window::header_size);
        pool = make_external_pool(name, buffers, options.cache, options.buffer_size, socket, *data_->memzone());
    } else {
        pool = rte_pktmbuf_pool_create(name.c_str(), buffers, options.cache, 0, options.buffer_size, socket);
    }
    if (pool == nullptr)
        refuse_pool(kind, buffers, bytes);
    packets_ = {.kind = kind, .pool = std::unique_ptr<rte_mempool, PacketPool::Free>{pool}};
}

} // namespace mrz::testpmd

// SPDX-License-Identifier: BSD-3-Clause
#include "packet_memory.hpp"

#include "external_buffers.hpp"
#include "native_pages.hpp"

#include "common/output.hpp"
#include "common/process_limits.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace mrz::testpmd {
namespace {

// Whether what is behind the port maps memory by DPDK's table of it, of which it can be given all but external heaps:
// packets in an arena are not seen by virtio-user's peer, which drops them, and memif's does not even connect.
bool shares_memory_by_table(const PoolNeed& need)
{
    return need.driver == "net_virtio_user" ||
           (need.driver == "net_memif" && need.arguments.find("zero-copy=yes") != std::string::npos &&
            need.arguments.find("role=server") == std::string::npos);
}

// Of every port's pool: ports forward to one another.
PoolKind kind_for_all(const std::vector<PoolNeed>& ports, const MemoryOptions& options)
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
    // It makes the pool's own memory its ring's, where external buffers are not.
    const auto xdp = std::ranges::find(ports, "net_af_xdp", &PoolNeed::driver);
    if (xdp != ports.end() && options.kind == PoolKind::arena_extbuf)
        throw Error{ENOTSUP,
                    Cause{.trouble = Trouble::unsupported,
                          .what = fmt::format("packets of port {} ({}) in external buffers", xdp->port, xdp->driver),
                          .limit = "AF_XDP shares the pool's own memory with the kernel",
                          .remedy = "give --mp-alloc=arena or --mp-alloc=native"}};
    return options.kind;
}

// Where all devices are near to one node.
std::optional<int> common_node(const std::vector<PoolNeed>& ports)
{
    const auto same = [&ports](const PoolNeed& need) { return need.node == ports.front().node; };
    return std::ranges::all_of(ports, same) ? ports.front().node : std::nullopt;
}

// Bytes that a pool of whole packets takes: objects that do not cross pages, its ring, its lcores' caches.
std::size_t bytes_of_pool(std::uint32_t buffers, std::size_t object, std::size_t page_size)
{
    rte_mempool_objsz size = {};
    const std::size_t each = rte_mempool_calc_obj_size(static_cast<std::uint32_t>(object), 0, &size);
    const std::size_t pages = (buffers + page_size / each - 1) / (page_size / each);
    const std::size_t ring = std::bit_ceil(std::size_t{buffers} + 1) * sizeof(void*);
    const std::size_t caches = RTE_MAX_LCORE * sizeof(rte_mempool_cache);
    return pages * page_size + ring + caches + 2_MiB;
}

std::size_t arena_bytes(PoolKind kind, const MemoryOptions& options, std::uint32_t buffers)
{
    // The heap's pages are header pages' size, whatever the block's are.
    constexpr std::size_t heap_page = Window::header_size;
    const std::size_t bytes = kind == PoolKind::arena
                                  ? bytes_of_pool(buffers, sizeof(rte_mbuf) + options.buffer_size, heap_page)
                                  : bytes_of_pool(buffers, external_object_size, heap_page) +
                                        external_bytes(buffers, options.buffer_size, heap_page);
    return (bytes + options.page_size - 1) / options.page_size * options.page_size;
}

[[noreturn]] void refuse_pool(PoolKind kind, std::uint32_t buffers, std::size_t bytes)
{
    const int error_number = rte_errno > 0 ? rte_errno : ENOMEM;
    const std::string fewer = "or give a smaller --total-num-mbufs";
    throw Error{error_number, Cause{.trouble = Trouble::hugepages,
                                    .what = fmt::format("a pool of {} buffers ({})", buffers, to_string(kind)),
                                    .limit = fmt::format("DPDK answers \"{}\"; bytes of pages that are free",
                                                         rte_strerror(error_number)),
                                    .present = read_pool(native_page_size).available() * native_page_size,
                                    .need = bytes,
                                    .remedy = kind == PoolKind::native ? how_to_give(bytes) + ", " + fewer : fewer}};
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

PacketMemory::PacketMemory(const MemoryOptions& options, const std::vector<PoolNeed>& ports, std::uint32_t buffers)
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
    arena.surplus = app::surplus_for(size, options.page_size);
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
    const std::size_t bytes = object_bytes(buffers, sizeof(rte_mbuf) + options.buffer_size);
    if (kind == PoolKind::native && options.may_add_pages) {
        app::check_open_files(native_pages(bytes));
        native_pages_.emplace(native_page_size, std::nullopt, native_pages(bytes));
        Window::preflight({.size = native_pages(bytes) * native_page_size, .page_size = native_page_size});
    }
    rte_mempool* pool = nullptr;
    if (kind == PoolKind::arena_extbuf) {
        data_ = arena_->reserve("testpmd_data", external_bytes(buffers, options.buffer_size, Window::header_size),
                                Access::local_write, Window::header_size);
        pool = make_external_pool(name, buffers, options.cache, options.buffer_size, socket, *data_->memzone());
    } else {
        pool = rte_pktmbuf_pool_create(name.c_str(), buffers, options.cache, 0, options.buffer_size, socket);
    }
    if (pool == nullptr)
        refuse_pool(kind, buffers, bytes);
    packets_ = {.kind = kind, .pool = std::unique_ptr<rte_mempool, PacketPool::Free>{pool}};
}

} // namespace mrz::testpmd

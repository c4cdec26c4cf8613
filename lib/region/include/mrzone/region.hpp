// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Domains and regions: memory registered as planned, and the keys to it.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/device.hpp>
#include <mrzone/listed.hpp>
#include <mrzone/plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct ibv_pd;

namespace mrz {

class DomainState;
class MovableKey;
class Reader;
class Region;
class WatchedLookUp;

//! Whose a region is: what snapshots count it as.
enum class Tier : std::uint8_t {
    resident,  //!< Somebody's who holds it.
    arena,     //!< Of an arena, or of a zone of one.
    temporary, //!< Of a cache.
};

struct RegionOptions {
    //! Where the key's space begins; none: at the memory's virtual address. Must agree with the memory's address in
    //! the low 12 bits.
    std::optional<Iova> iova = {};
    //! Whether the region's keys may be indirect ones, over several others, where the device has such and they cost
    //! less. Else they are single direct keys, as from ibv_reg_mr.
    bool indirect = true;
    Weights weights = {}; //!< What costs less.
    RegisterOptions how = {};
    //! Whether look-up may find the region. Not where it can end while somebody uses a key that was looked up, as
    //! regions of a cache do.
    bool looked_up = true;
    //! Whether nothing but the owner of the region can take the memory away before the region ends, as with memory of
    //! an arena. Look-ups find what of it is whole, aligned 2 MiB by an index, even while other memory is unmapped.
    bool lasting = false;
    Tier tier = Tier::resident;
};

//! What a region is to be of.
struct RegionRequest {
    std::span<std::byte> memory = {};
    Access access = Access::local_read;
    RegionOptions options = {};
};

//! What readers (mrzone/reader.hpp) of a domain find, and how.
struct LookUpSnapshot {
    std::size_t regions = 0;        //!< That are found.
    std::size_t in_slots = 0;       //!< Of these, by an index.
    std::size_t segments = 0;       //!< That the others are searched in: fewer where some lie within others.
    std::size_t tables_waiting = 0; //!< Old ones that a reader may still be searching.
    std::size_t bytes_waiting = 0;  //!< Theirs.
    std::size_t readers = 0;
    bool shut = false;      //!< Nothing is searched at the moment, since memory may be gone; slots count.
    std::size_t hidden = 0; //!< Regions that are there and not found any more, since some of their memory went.
};

//! What regions of one tier are together.
struct TierSnapshot {
    std::uint64_t regions = 0;
    std::uint64_t bytes = 0;        //!< That they were named with.
    std::uint64_t pinned_bytes = 0; //!< In whole pages, counted once a region.
    std::uint64_t keys = 0;         //!< Direct and indirect ones.
    std::uint64_t mtt_entries = 0;
    std::uint64_t indirect_entries = 0;
};

//! What is registered in a domain now.
struct DomainSnapshot {
    std::uint64_t number = 0; //!< Domain::number().
    std::string device;
    std::string driver;
    std::optional<int> numa_node = {};
    bool closed = false;
    TierSnapshot arena = {};
    TierSnapshot resident = {};
    TierSnapshot temporary = {};
    std::uint64_t movable_keys = 0; //!< mrzone/movable_key.hpp; not among those of the tiers.
    LookUpSnapshot look_up = {};
    std::optional<CacheCounters> device_caches = {}; //!< Domain::cache_counters().
};

//! What a peer is given to reach a region: all that it needs, and nothing of the owner's addresses.
//!
//! A plain value; it grants as much as the region does for as long as that lives and the key is not issued again.
struct RemoteRegion {
    Iova iova = {}; //!< Of the first byte, in the key's space.
    std::uint64_t length = 0;
    RKey rkey = {};
    Access access = Access::local_read; //!< What is granted to peers: remote rights only.
    PageShift page_shift{12};           //!< Of the smallest entry that it costs, as a hint for aligned requests.
    //! Among all keys that this process has issued: of two for the same memory the greater is newer.
    std::uint64_t generation = 0;

    //! Bytes of packed(), and the least that unpack() takes.
    static constexpr std::size_t packed_size = 48;
    //! In network byte order, to be sent as it is: small enough for the private data of a connection.
    //!
    //!      0  u32  magic, "mrzR"       8  u64  iova      24  u32  rkey          36  u64  0
    //!      4  u8   version, 1         16  u64  length    28  u64  generation    44  u32  CRC-32C of what is
    //!      5  u8   page_shift                                                          before it
    //!      6  u16  access
    [[nodiscard]] MRZ_API std::array<std::byte, packed_size> pack() const;
    //! What pack() made; \p bytes may be longer, since RDMA-CM pads with zeroes. Throws Error: data (EBADMSG) for
    //! what is damaged or none, or of a version that this library does not know.
    [[nodiscard]] MRZ_API static RemoteRegion unpack(std::span<const std::byte> bytes);

    friend bool operator==(const RemoteRegion&, const RemoteRegion&) = default;
};

//! A protection domain of a device, with what is registered in it.
//!
//! A handle: copies are the same domain, which lives as long as one of them, a region or a queue pair of it. All
//! calls are thread-safe. Belongs to the process that opened it: a child of fork() opens its own. The child may
//! destroy its copies, of regions and queue pairs too, which does nothing to the parent's; what registers, creates or
//! closes throws Error (unsupported, ENOTSUP) there.
class MRZ_API Domain {
  public:
    //! Opens a device by name; where several drivers know it, the first of them, unless one is named: "verbs:mlx5_0".
    //! A name never becomes another device: only "any" takes the first device of the first driver that has one, at
    //! last the software adapter, which is said (reason(), and once in the log).
    //! Throws Error: unsupported (ENODEV) naming the devices there are; and whatever the driver says.
    static Domain open(std::string_view device = "any");

    //! Takes a protection domain of the application's, whose queue pairs then work with the keys; it stays the
    //! application's, and outlives what is registered in it. Throws Error: unsupported (ENOTSUP) where libibverbs was
    //! not there when this was built; invalid (EINVAL) for none; and whatever the driver says.
    static Domain adopt(ibv_pd* pd);

    //! The device's name.
    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string_view driver() const;
    //! Why this device: a sentence for reports.
    [[nodiscard]] std::string reason() const;
    [[nodiscard]] std::optional<int> numa_node() const;
    //! What plans for this device are made with.
    [[nodiscard]] Limits limits() const;
    //! What plans for this device are made from.
    [[nodiscard]] DmaView dma_view() const;
    //! Whether registering memory twice always pins it, and is charged, twice. If not, regions may share what is
    //! pinned (RegisterOptions::sharing).
    [[nodiscard]] bool pins_again() const;
    //! Look-ups of the whole device's translation caches, where it can tell.
    [[nodiscard]] std::optional<CacheCounters> cache_counters() const;

    //! Registers exactly \p memory, which must stay mapped as it is for as long as the region lives. Pages that were
    //! never touched are populated first, since the plan is made from frames.
    //! What happens if it does not: the region keeps the pages that it pinned, and its keys reach these. Where the
    //! domain has a watched cache (mrzone/cache.hpp) no look-up that starts after the memory was unmapped, moved,
    //! mapped over or discarded, even in part, finds the region again; without one look-ups go on to find it.
    //! Throws Error, and then nothing is pinned: invalid (EINVAL) for no bytes, a range that wraps, contradictory
    //! rights or an iova that fits no page size; invalid (EFAULT) for memory that is not mapped; permission (EFAULT)
    //! for memory that the driver may not write; hugepages or cgroup (EFAULT) where pages are not to be had;
    //! permission (EPERM) where frames are hidden and the device needs them; locked_memory; unsupported; data
    //! (ESTALE, EBADMSG) where the device did not build what was planned; invalid (EBADF) for a closed domain.
    [[nodiscard]] Region register_memory(std::span<std::byte> memory, Access access = Access::local_read,
                                         const RegionOptions& options = {}) const;
    //! As register_memory() of each, in their order, or of none: quicker than one by one.
    [[nodiscard]] std::vector<Region> register_all(std::span<const RegionRequest> requests) const;
    //! A queue pair of the device; it keeps the domain open.
    [[nodiscard]] std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions& options = {}) const;

    //! As ProtectionDomain's (mrzone/device.hpp); what they return keeps the domain open.
    [[nodiscard]] std::unique_ptr<Listener> listen(std::string_view address) const;
    [[nodiscard]] std::unique_ptr<Connection> connect(std::string_view address, const ConnectOptions& options = {},
                                                      const std::function<void(QueuePair&)>& before = {}) const;

    //! Throws Error: unsupported (ENOTSUP) in a child of fork().
    [[nodiscard]] LookUpSnapshot look_up_snapshot() const;
    //! Costs the same whatever is registered. Throws Error: unsupported (ENOTSUP) in a child of fork().
    [[nodiscard]] DomainSnapshot snapshot() const;

    //! Among all domains of this process; never another's.
    [[nodiscard]] std::uint64_t number() const noexcept;
    //! All domains of this process, with the names of their devices; in a child of fork() those that it opened.
    [[nodiscard]] static std::vector<Living> living();
    //! Of the domain of that number, of which no handle is needed; nothing if it is gone.
    [[nodiscard]] static std::optional<DomainSnapshot> snapshot_of(std::uint64_t number);

    //! Gives the domain back now; calls but the ones that describe it then throw Error (EBADF). Closing twice is
    //! closing once. Throws Error: busy (EBUSY), naming what lives in it; nothing has changed then.
    void close();

    //! Whether both are handles of one domain.
    friend bool operator==(const Domain&, const Domain&) = default;

  private:
    friend class Region;
    friend class MovableKey;
    friend class Reader;
    friend class WatchedLookUp;
    explicit Domain(std::shared_ptr<DomainState> state) noexcept;

    std::shared_ptr<DomainState> state_;
};

//! Memory registered in a domain, for as long as this lives. What was moved from may only be assigned or destroyed.
//! Reading is thread-safe.
class MRZ_API Region {
  public:
    Region(Region&&) noexcept;
    Region& operator=(Region&&) noexcept;
    //! Deregisters: afterwards no operation reaches the memory by these keys, nor by a movable key that led there,
    //! and it is not pinned, unless by another region that it shares what is pinned with (RegisterOptions::sharing).
    ~Region();

    //! The memory, exactly as it was named.
    [[nodiscard]] std::span<std::byte> bytes() const noexcept;
    //! The address of the first byte for those who use the keys.
    [[nodiscard]] Iova iova() const noexcept;
    [[nodiscard]] Access access() const noexcept;
    //! For work requests of the owner.
    [[nodiscard]] LKey lkey() const noexcept;
    //! For peers. Grants nothing if no right is remote.
    [[nodiscard]] RKey rkey() const noexcept;
    //! What a peer is to be given. Throws Error: invalid (EACCES) if no right is remote.
    [[nodiscard]] RemoteRegion remote() const;
    //! Takes back the rkey, and issues another for the same memory and rights. When it returns no operation reaches
    //! the memory by the old one. Excludes rkey() and remote(). Throws Error: unsupported (ENOTSUP) where the driver
    //! does not choose keys: there only the region's end takes one back; and in a child of fork(); invalid (EACCES)
    //! if no right is remote; and what the device says. Then the old key stays the region's.
    RemoteRegion reissue();
    //! What was planned before pinning.
    [[nodiscard]] const Plan& plan() const noexcept;
    //! What another of the device's ways to register would cost, if that is less: a sentence. Mostly nothing.
    [[nodiscard]] const std::string& remark() const noexcept;
    //! Whether the device may reorder its writes: relaxed or strict; nothing if that cannot be told.
    [[nodiscard]] std::optional<Ordering> ordering() const noexcept;
    //! What the device says that it built, which equals the plan; nothing if it cannot tell.
    [[nodiscard]] const std::optional<std::vector<BuiltKey>>& built() const noexcept;
    [[nodiscard]] std::size_t pinned_bytes() const noexcept;
    [[nodiscard]] RegisterPhases phases() const noexcept;
    [[nodiscard]] Domain domain() const noexcept;

  private:
    friend class Domain;
    friend class MovableKey;
    struct State;
    explicit Region(std::unique_ptr<State> state) noexcept;

    std::unique_ptr<State> state_;
};

} // namespace mrz

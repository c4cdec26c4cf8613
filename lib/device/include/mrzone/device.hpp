// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What a driver implements: devices, protection domains, registered memory, queue pairs; and the table of drivers.
//!
//! Applications use these through Domain and Region, but for queue pairs, which serve tools, tests and machines
//! without a NIC. On hardware an application uses its own queue pairs with our keys.
//!
//! Unless said otherwise every call is thread-safe and throws Error; destruction of an object excludes its use.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/plan.hpp>

#include <chrono>
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

// ---- Registration ------------------------------------------------------------------------------------------------

enum class Paging {
    pinned,    //!< Pages stay where they are for as long as the key lives.
    on_demand, //!< The device faults pages in. Needs a device that can.
};
enum class Ordering {
    strict,
    relaxed, //!< The device may reorder its writes (IBV_ACCESS_RELAXED_ORDERING). Needs a device that can.
    best,    //!< Relaxed where the device can, else strict.
};

//! Which way to register memory, where a device has several. mlx5 has two: umems, whose memory is pinned once for
//! many keys, and ibv_reg_mr, whose rule for page sizes is less strict.
enum class Way {
    pinned_once,    //!< The driver's own.
    fewest_entries, //!< Whichever costs less in the device's tables.
    memory_region,  //!< That of ibv_reg_mr, as any program registers. Pages on demand need it.
};

//! Whether a region may share what is pinned with others over the same pages, where the device can. It then stays
//! pinned, whole, until the last of them ends.
enum class Sharing {
    never,   //!< What it pins is its own, and ends with it.
    similar, //!< Only what is at most twice as long as the region: so it never keeps much more pinned than it has.
    always,  //!< Whatever covers it: for parts of memory that is pinned for longer anyway, as an arena is.
};

//! How to register, apart from rights.
struct RegisterOptions {
    Paging paging = Paging::pinned;
    Ordering ordering = Ordering::strict;
    Way way = Way::pinned_once;
    Sharing sharing = Sharing::similar;
};

//! Throws Error (invalid, EINVAL) with the reason if rights contradict each other: remote write and remote atomic
//! need local write, because the device writes on behalf of the peer.
MRZ_API void check_access(Access access);
//! "local write, remote read"; "local read" if that is all.
MRZ_API std::string to_string(Access access);

//! What a plan stands on besides the limits of its device, as only the driver that made it knows.
class MRZ_API Basis {
  public:
    Basis() = default;
    Basis(const Basis&) = delete;
    Basis& operator=(const Basis&) = delete;
    virtual ~Basis();
};

//! How memory is to be registered.
struct Proposal {
    Plan plan;
    std::shared_ptr<const Basis> basis = {};
    std::string remark = {}; //!< What another way would cost, if that is less. Mostly nothing.
};

struct RegisterRequest {
    std::byte* address = nullptr;
    std::size_t length = 0; //!< Bytes, not zero.
    Iova iova = {};         //!< Where the key's space begins.
    Access access = Access::local_read;
    RegisterOptions options = {};
    const Plan* plan = nullptr;              //!< What is to be built. Lives until the call returns.
    std::shared_ptr<const Basis> basis = {}; //!< The plan's.
};

//! One key as the device holds it.
struct BuiltKey {
    Iova iova = {};
    std::size_t length = 0;
    PageShift page_shift{12};                  //!< Of an entry; means nothing for KLM, whose entries differ.
    std::uint64_t entries = 0;                 //!< Translation entries, or those of an indirect key.
    std::optional<IndirectKind> indirect = {}; //!< None: a direct key, over pages.

    friend bool operator==(const BuiltKey&, const BuiltKey&) = default;
};

//! What registering cost, by phase. A driver that cannot tell phases apart leaves the others zero.
struct RegisterPhases {
    std::chrono::nanoseconds pin{};    //!< Walk the page table and pin.
    std::chrono::nanoseconds map{};    //!< Make it known to an IOMMU; find frames.
    std::chrono::nanoseconds tables{}; //!< Fill the device's tables.
};

//! Memory that is registered for as long as this lives.
class MRZ_API RegisteredMemory {
  public:
    RegisteredMemory() = default;
    RegisteredMemory(const RegisteredMemory&) = delete;
    RegisteredMemory& operator=(const RegisteredMemory&) = delete;
    //! Deregisters: when it returns no operation reaches the memory by these keys any more, and it is not pinned,
    //! unless it shares what is pinned (Sharing).
    virtual ~RegisteredMemory();

    [[nodiscard]] virtual LKey lkey() const noexcept = 0;
    //! Throws nothing; a region without remote rights has an rkey that grants nothing.
    [[nodiscard]] virtual RKey rkey() const noexcept = 0;
    //! Asks the device what it built: the direct keys in the order of the memory, then the indirect one over them if
    //! there is one; nothing if it cannot tell. A device that keeps local and remote rights in
    //! records of their own tells of the local one; the other is over the same pages.
    [[nodiscard]] virtual std::optional<std::vector<BuiltKey>> query() const = 0;
    //! Bytes that it keeps in place, counted in whole pages of the machine.
    [[nodiscard]] virtual std::size_t pinned_bytes() const noexcept = 0;
    [[nodiscard]] virtual RegisterPhases phases() const noexcept = 0;
    //! Whether the device may reorder its writes: relaxed or strict; nothing if that cannot be told.
    [[nodiscard]] virtual std::optional<Ordering> ordering() const noexcept;
    //! Makes another rkey to the same memory with the same rights. When it returns no operation reaches the memory by
    //! the old one any more, and the two differ at least in their variant byte; lkey and pinning stay. Throws Error:
    //! unsupported (ENOTSUP) where the driver does not choose keys: then only deregistering takes one back; and what
    //! the device says. The old key stays then.
    virtual RKey reissue();
};

//! A part of registered memory.
struct KeyPart {
    LKey lkey = {};           //!< Of the memory, which lives in the same domain.
    Iova iova = {};           //!< Where the part begins in that key's space.
    std::uint64_t length = 0; //!< Bytes, not zero, and as many as an entry of an indirect key may have (Limits).
};

//! A key for peers that leads to parts of registered memory, and later to others, without being made again. It uses
//! that memory as its owner does, so peers need no rights of it.
class MRZ_API MovableRKey {
  public:
    MovableRKey() = default;
    MovableRKey(const MovableRKey&) = delete;
    MovableRKey& operator=(const MovableRKey&) = delete;
    virtual ~MovableRKey();

    //! Makes it lead to \p parts, as many as it has entries at most, one after the other from \p iova on; their keys
    //! live until it leads elsewhere. When it returns no operation reaches by it what it led to before, and the rkey
    //! before is refused. Where it throws it leads where it did, or nowhere.
    virtual RKey lead_to(Iova iova, std::span<const KeyPart> parts) = 0;
    //! When it returns no operation reaches anything by it.
    virtual void lead_nowhere() noexcept = 0;
};

// ---- Queue pairs -------------------------------------------------------------------------------------------------

//! The work requests of reliable connected queue pairs.
enum class Opcode {
    send,
    send_with_immediate,
    rdma_write,
    rdma_write_with_immediate,
    rdma_read,
    atomic_compare_and_swap,
    atomic_fetch_and_add,
};

//! How an operation ended, as ibv_wc_status.
enum class WcStatus {
    success,
    local_length_error,
    local_qp_operation_error,
    local_protection_error,
    flush_error,
    bad_response_error,
    local_access_error,
    remote_invalid_request_error,
    remote_access_error,
    remote_operation_error,
    retry_exceeded,
    rnr_retry_exceeded,
    general_error,
};
//! "success", "local protection error", …
MRZ_API std::string_view to_string(WcStatus status) noexcept;

//! A piece of local memory in a work request, in the space of its key.
struct Segment {
    Iova iova = {};
    std::uint32_t length = 0;
    LKey lkey = {};
};

struct SendRequest {
    std::uint64_t id = 0;
    Opcode opcode = Opcode::send;
    std::span<const Segment> segments = {}; //!< Must live until post_send() returns.
    bool signaled = true;
    bool inlined = false; //!< Copy the bytes now; segments then name virtual addresses, and their keys do not count.
    bool solicited = false;
    bool fence = false;
    std::uint32_t immediate = 0;
    Iova remote_iova = {};
    RKey rkey = {};
    std::uint64_t compare = 0;
    std::uint64_t swap_or_add = 0;
};
struct ReceiveRequest {
    std::uint64_t id = 0;
    std::span<const Segment> segments = {};
};

enum class WcOpcode { send, rdma_write, rdma_read, atomic, receive, receive_rdma_with_immediate };

struct Completion {
    std::uint64_t id = 0;
    WcStatus status = WcStatus::success;
    WcOpcode opcode = WcOpcode::send; //!< Valid if status is success.
    std::uint32_t byte_length = 0;    //!< Of receives, reads and atomics.
    std::optional<std::uint32_t> immediate = {};
};

struct QueuePairOptions {
    std::uint32_t send_requests = 64;    //!< That may be outstanding.
    std::uint32_t receive_requests = 64; //!< That may be outstanding.
    std::uint32_t segments = 4;          //!< A request.
    std::uint32_t inline_bytes = 64;
    std::uint8_t rnr_retry = 7; //!< 0 to 6 times; 7: for ever.
    std::uint8_t retry = 7;
};

//! What a peer must know to connect to a queue pair. Opaque; of the same kind of device.
struct Endpoint {
    std::vector<std::byte> bytes;
};

//! A reliable connected queue pair with completion queues of its own.
//! Posting and polling may come from different threads; each of them from one at a time.
class MRZ_API QueuePair {
  public:
    QueuePair() = default;
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;
    virtual ~QueuePair();

    [[nodiscard]] virtual Endpoint local() const = 0;
    //! Moves the queue pair from INIT, in which it is made, so that receives can be posted early, to RTS.
    //! Throws Error: invalid (EISCONN) if it is connected already; invalid (EINVAL) for an endpoint that is none;
    //! unsupported for one that this device cannot reach.
    virtual void connect(const Endpoint& remote) = 0;
    //! Throws Error: busy (ENOMEM) if the queue is full, that is, so many requests were posted and not yet polled;
    //! invalid (EINVAL) if the request does not fit the options or the queue pair is not connected. What is wrong
    //! with keys and addresses is told by the completion.
    virtual void post_send(const SendRequest& request) = 0;
    //! As post_send(), and before connect() too.
    virtual void post_receive(const ReceiveRequest& request) = 0;
    //! Fills in completions of sends and receives, oldest first, and returns how many. Never blocks.
    virtual std::size_t poll(std::span<Completion> completions) = 0;
    //! Moves to the error state: what is outstanding completes with flush_error.
    virtual void fail() = 0;
};

// ---- Connections -------------------------------------------------------------------------------------------------

//! What either side may say to the other while they connect (RDMA_PS_TCP's rdma_conn_param.private_data_len).
inline constexpr std::size_t most_private_data = 56; //!< Bytes.

struct ConnectOptions {
    QueuePairOptions queue_pair = {};
    //! At most most_private_data bytes, which the peer is given; perhaps with zeroes after them, since RDMA-CM pads.
    std::span<const std::byte> private_data = {};
    std::chrono::milliseconds timeout{
        5000}; //!< For all but looking up a host's name, which takes the resolver's time.
};

//! A queue pair that is connected to one of another process, perhaps of another host.
class MRZ_API Connection {
  public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    //! Disconnects. Afterwards the peer reaches no memory through it.
    virtual ~Connection();

    //! Lives as long as the connection. Is connected already, so its connect() throws EISCONN.
    [[nodiscard]] virtual QueuePair& queue_pair() noexcept = 0;
    //! What the peer said, at least as long as it was; zeroes may follow.
    [[nodiscard]] virtual std::span<const std::byte> private_data() const noexcept = 0;
    //! Where the peer is, for people.
    [[nodiscard]] virtual std::string peer() const = 0;
    //! False for good once the peer has disconnected, has ended, or cannot be reached. What was outstanding completes
    //! with an error then: retry_exceeded or flush_error. Never blocks.
    [[nodiscard]] virtual bool connected() noexcept = 0;
    //! The peer's connected() turns false. What is outstanding completes with flush_error; completions can still be
    //! polled. Twice is once.
    virtual void disconnect() noexcept = 0;
};

//! A peer that wishes to connect.
class MRZ_API ConnectionRequest {
  public:
    ConnectionRequest() = default;
    ConnectionRequest(const ConnectionRequest&) = delete;
    ConnectionRequest& operator=(const ConnectionRequest&) = delete;
    virtual ~ConnectionRequest(); //!< Refuses, unless it was accepted or refused before.

    //! As Connection's.
    [[nodiscard]] virtual std::span<const std::byte> private_data() const noexcept = 0;
    [[nodiscard]] virtual std::string peer() const = 0;
    //! Receives that \p before posts to the queue pair are there before the peer can send. Throws Error as connect()
    //! does; and busy (EALREADY) if it was answered before.
    virtual std::unique_ptr<Connection> accept(const ConnectOptions& options,
                                               const std::function<void(QueuePair&)>& before = {}) = 0;
    //! \p why, at most most_private_data bytes of text, becomes part of the error that the peer's connect() throws.
    virtual void refuse(std::string_view why) = 0;
};

//! Waits for peers.
class MRZ_API Listener {
  public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    virtual ~Listener(); //!< Requests that nobody took are refused.

    //! What a peer connects to: "HOST:PORT", with the port that was chosen where 0 was asked for.
    [[nodiscard]] virtual std::string address() const = 0;
    //! The next request, or nothing within \p timeout (0: does not wait).
    virtual std::unique_ptr<ConnectionRequest> wait(std::chrono::milliseconds timeout) = 0;
};

// ---- Devices -----------------------------------------------------------------------------------------------------

//! What a device's DMA addresses are.
enum class DmaView {
    frames,            //!< Physical addresses.
    virtual_addresses, //!< Virtual addresses of this process, where a software adapter cannot learn or hold frames.
    unknown, //!< Physical addresses that this process may not see: a layout is the least that pages promise.
};

//! A protection domain of a device: keys work with the queue pairs of the same domain only.
class MRZ_API ProtectionDomain {
  public:
    ProtectionDomain() = default;
    ProtectionDomain(const ProtectionDomain&) = delete;
    ProtectionDomain& operator=(const ProtectionDomain&) = delete;
    virtual ~ProtectionDomain(); //!< After all that was made of it.

    //! How register_memory() is to register memory with this \p layout, for which \p request has no plan yet. Unless
    //! a driver has more to choose from: the optimal plan by \p limits, the device's. Throws Error as
    //! make_optimal_plan(), and for what the request wants and the way that it names has not.
    virtual Proposal propose(const RegisterRequest& request, const Layout& layout, const PlanOptions& options,
                             const Limits& limits);

    //! Throws Error with the cause told apart: locked_memory, cgroup, permission (a read-only mapping where the
    //! driver pins for writing), invalid (unmapped memory, a range that wraps), unsupported (paging or ordering; key
    //! limit). Nothing stays pinned then.
    virtual std::unique_ptr<RegisteredMemory> register_memory(const RegisterRequest& request) = 0;
    //! As register_memory() of each, in their order, or of none: a driver that is quicker at many at once says how.
    virtual std::vector<std::unique_ptr<RegisteredMemory>> register_many(std::span<const RegisterRequest> requests);
    //! A key that leads nowhere yet, and will grant \p access, remote rights only, to up to \p entries parts of
    //! memory. Throws Error: unsupported (ENOTSUP) where the device has none; unsupported (E2BIG) for too many
    //! entries; and as register_memory() for key limits.
    virtual std::unique_ptr<MovableRKey> create_movable_key(Access access, std::size_t entries);
    virtual std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions& options) = 0;
    //! Waits at \p address, "[HOST][:PORT]"; no host: every address of this machine; no port: any that is free; an
    //! address of IPv6 in brackets. Throws Error: invalid (EINVAL) for what is no address; busy (EADDRINUSE);
    //! unsupported for an address that is not this device's, or where the driver has no connections.
    virtual std::unique_ptr<Listener> listen(std::string_view address);
    //! Connects to \p address, "HOST:PORT". Receives that \p before posts to the queue pair are there before the peer
    //! can send. Throws Error: invalid (EINVAL); unsupported (EHOSTUNREACH); peer (ECONNREFUSED), with what it said,
    //! and peer (ETIMEDOUT).
    virtual std::unique_ptr<Connection> connect(std::string_view address, const ConnectOptions& options,
                                                const std::function<void(QueuePair&)>& before = {});
};

//! Look-ups of a device's translation caches. Only a software adapter can tell.
struct CacheCounters {
    std::uint64_t mtt_hits = 0, mtt_misses = 0, mpt_hits = 0, mpt_misses = 0;
};

//! An open device.
class MRZ_API Device {
  public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device(); //!< After its domains.

    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::string_view driver() const = 0;
    //! What else is to be known of it, for reports: "a software device: …". Mostly nothing.
    [[nodiscard]] virtual std::string remark() const;
    [[nodiscard]] virtual std::optional<int> numa_node() const = 0;
    //! What the planner may choose from.
    [[nodiscard]] virtual Limits limits() const = 0;
    //! What a layout to plan from is made of. Does not change.
    [[nodiscard]] virtual DmaView dma_view() const noexcept = 0;
    //! Whether a second region over pages that are pinned already is always charged and pinned again. If not, it may
    //! share what is pinned, as far as Sharing lets it.
    [[nodiscard]] virtual bool pins_again() const = 0;
    [[nodiscard]] virtual std::unique_ptr<ProtectionDomain> allocate_domain() = 0;
    [[nodiscard]] virtual std::optional<CacheCounters> cache_counters() const = 0;
};

//! A row of the table of drivers. Functions throw Error.
struct Driver {
    std::string_view name;
    //! The devices it could open now, by name; empty if there are none.
    std::vector<std::string> (*list)();
    //! Opens one. Devices may be shared: opening one twice may give the same.
    std::shared_ptr<Device> (*open)(std::string_view device);
    //! A device whose only domain is the application's \p pd, which outlives it; nothing if it is another driver's.
    //! No function where a driver has none.
    std::shared_ptr<Device> (*adopt)(ibv_pd* pd) = nullptr;
};
//! All drivers that were built, in order of preference: hardware first. Generated by drivers/meson.build.
MRZ_API std::span<const Driver> drivers();

// ---- What drivers refuse alike -----------------------------------------------------------------------------------

//! The bytes of a request that is inlined. Throws Error (invalid, EINVAL) if they are more than \p most, the queue
//! pair's inline bytes.
MRZ_API std::uint64_t inline_length(std::span<const Segment> segments, std::uint32_t most);
//! Throws Error (invalid, EINVAL) if there are more than most_private_data bytes; \p what is refused.
MRZ_API void check_private_data(std::span<const std::byte> private_data, const std::string& what);
//! The error (busy, ENOMEM) of \p what where \p most requests are outstanding already.
MRZ_API Error full_queue(std::string what, std::uint64_t most);

// ---- Layouts for devices -----------------------------------------------------------------------------------------

//! The layout of memory of this process, as a device with \p view sees it; nothing if frames are asked for and this
//! process may not see them. Of unknown ones no two pages are contiguous, and none agrees with its virtual address in
//! more than its own size. Reads one entry a hugepage where the memory is of hugetlbfs. Frames stay what they are
//! only while the memory is pinned. Throws Error: invalid (EINVAL) for no bytes or a range that wraps; invalid
//! (EFAULT) if a byte is not mapped, or frames are asked for and a page is not present; and as read_frames().
MRZ_API std::optional<Layout> read_layout(std::span<const std::byte> memory, DmaView view);
//! The same for each of several pieces of memory, in their order; the process's mappings are read once for all.
MRZ_API std::optional<std::vector<Layout>> read_layouts(std::span<const std::span<const std::byte>> memories,
                                                        DmaView view);

} // namespace mrz

// SPDX-License-Identifier: BSD-3-Clause
#include "carrier.hpp"

#include <mrzone/device.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <liburing.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

namespace mrz {
namespace test {
namespace {

constexpr unsigned slots = 256;
constexpr std::size_t longest = std::size_t{4} << 20;

//! Registered buffers, and a file that stands for what is outside.
class Ring {
  public:
    static Ring& get()
    {
        static Ring ring;
        return ring;
    }
    std::uint32_t pin(std::span<std::byte> memory)
    {
        const std::scoped_lock guard{mutex_};
        unsigned slot = 0;
        while (slot < slots && keys_[slot] != 0)
            ++slot;
        if (slot == slots)
            throw_error(ENOSPC, "slots");
        iovec buffer{.iov_base = memory.data(), .iov_len = memory.size()};
        __u64 tag = 0;
        if (const int done = io_uring_register_buffers_update_tag(&ring_, slot, &buffer, &tag, 1); done < 0)
            throw_error(-done, "io_uring_register");
        keys_[slot] = ++last_ * slots + slot; // no number is that of two
        return keys_[slot];
    }
    void unpin(std::uint32_t key)
    {
        const std::scoped_lock guard{mutex_};
        iovec none{};
        __u64 tag = 0;
        io_uring_register_buffers_update_tag(&ring_, key % slots, &none, &tag, 1);
        keys_[key % slots] = 0;
    }
    bool carry(Way way, std::uint32_t key, std::span<std::byte> memory, std::span<std::byte> outside)
    {
        const std::scoped_lock guard{mutex_};
        const int slot = static_cast<int>(key % slots);
        const auto length = static_cast<unsigned>(memory.size());
        if (keys_[key % slots] != key)
            return false;
        if (way == Way::into_memory && ::pwrite(file_, outside.data(), length, 0) != static_cast<ssize_t>(length))
            return false;
        io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
        if (way == Way::into_memory)
            io_uring_prep_read_fixed(entry, file_, memory.data(), length, 0, slot);
        else
            io_uring_prep_write_fixed(entry, file_, memory.data(), length, 0, slot);
        io_uring_cqe* done = nullptr;
        if (io_uring_submit(&ring_) != 1 || io_uring_wait_cqe(&ring_, &done) != 0)
            return false;
        const bool all = done->res == static_cast<int>(length);
        io_uring_cqe_seen(&ring_, done);
        return all &&
               (way == Way::into_memory || ::pread(file_, outside.data(), length, 0) == static_cast<ssize_t>(length));
    }
    [[nodiscard]] bool works() const { return works_; }

  private:
    Ring()
    {
        file_ = ::memfd_create("outside", MFD_CLOEXEC);
        works_ = file_ >= 0 && ::ftruncate(file_, static_cast<off_t>(longest)) == 0 &&
                 io_uring_queue_init(8, &ring_, 0) == 0 && io_uring_register_buffers_sparse(&ring_, slots) == 0;
    }
    [[noreturn]] static void throw_error(int error, const char* what)
    {
        throw Error{error, {.trouble = Trouble::invalid, .what = "pinning", .limit = what, .remedy = {}}};
    }

    std::mutex mutex_;
    io_uring ring_{};
    int file_ = -1;
    bool works_ = false;
    std::array<std::uint32_t, slots> keys_{};
    std::uint32_t last_ = 0;
};

class PinnedMemory final : public RegisteredMemory {
  public:
    explicit PinnedMemory(const RegisterRequest& request)
        : bytes_{request.length}, key_{Ring::get().pin({request.address, request.length})}
    {
    }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    ~PinnedMemory() override { Ring::get().unpin(key_); }
    [[nodiscard]] LKey lkey() const noexcept override { return {key_}; }
    [[nodiscard]] RKey rkey() const noexcept override { return {}; }
    [[nodiscard]] std::optional<std::vector<BuiltKey>> query() const override { return std::nullopt; }
    [[nodiscard]] std::size_t pinned_bytes() const noexcept override { return bytes_; }
    [[nodiscard]] RegisterPhases phases() const noexcept override { return {}; }

  private:
    std::size_t bytes_;
    std::uint32_t key_;
};

class PinningDomain final : public ProtectionDomain {
  public:
    std::unique_ptr<RegisteredMemory> register_memory(const RegisterRequest& request) override
    {
        return std::make_unique<PinnedMemory>(request);
    }
    std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions&) override
    {
        throw std::logic_error{"this device has no queue pairs: use carry()"};
    }
};

class PinningDevice final : public Device {
  public:
    [[nodiscard]] std::string name() const override { return "pinning"; }
    [[nodiscard]] std::string_view driver() const override { return "pinning"; }
    [[nodiscard]] std::optional<int> numa_node() const override { return std::nullopt; }
    [[nodiscard]] Limits limits() const override { return {}; }
    [[nodiscard]] DmaView dma_view() const noexcept override { return DmaView::virtual_addresses; }
    [[nodiscard]] bool pins_again() const override { return true; }
    [[nodiscard]] std::unique_ptr<ProtectionDomain> allocate_domain() override
    {
        return std::make_unique<PinningDomain>();
    }
    [[nodiscard]] std::optional<CacheCounters> cache_counters() const override { return std::nullopt; }
};

} // namespace

struct Carrier::State {};

const char* Carrier::device()
{
    return Ring::get().works() ? "pinning" : "";
}

Carrier::Carrier(const Domain&) {}
Carrier::~Carrier() = default;

bool Carrier::carry(Way way, LKey key, std::span<std::byte> memory, std::span<std::byte> outside)
{
    return Ring::get().carry(way, key.value, memory, outside);
}

} // namespace test

std::span<const Driver> drivers()
{
    static const std::array<Driver, 1> table{Driver{
        .name = "pinning",
        .list = [] { return std::vector<std::string>{"pinning"}; },
        .open = [](std::string_view) -> std::shared_ptr<Device> { return std::make_shared<test::PinningDevice>(); }}};
    return table;
}

} // namespace mrz

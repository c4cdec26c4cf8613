// SPDX-License-Identifier: BSD-3-Clause
#include "carrier.hpp"

#include <array>
#include <cstring>
#include <mutex>
#include <thread>

#include <sys/mman.h>

namespace mrz::test {
namespace {

constexpr std::size_t longest = std::size_t{2} << 20;

//! Of the kernel's own, so that nobody unmaps parts of it.
class Staging {
  public:
    Staging() : address_{::mmap(nullptr, longest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)} {}
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging() { ::munmap(address_, longest); }
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), longest}; }

  private:
    void* address_;
};

} // namespace

struct Carrier::State {
    explicit State(const Domain& domain)
        : region{domain.register_memory(staging.bytes(),
                                        Access::local_write | Access::remote_read | Access::remote_write)},
          left{domain.create_queue_pair()}, right{domain.create_queue_pair()}
    {
        left->connect(right->local());
        right->connect(left->local());
    }

    std::mutex mutex;
    Staging staging;
    Region region;
    std::unique_ptr<QueuePair> left;
    std::unique_ptr<QueuePair> right;
};

const char* Carrier::device()
{
    try {
        return Domain::open("soft").dma_view() == DmaView::frames ? "soft" : "";
    } catch (const Error&) {
        return "";
    }
}

Carrier::Carrier(const Domain& domain) : state_{std::make_unique<State>(domain)} {}
Carrier::~Carrier() = default;

bool Carrier::carry(Way way, LKey key, std::span<std::byte> memory, std::span<std::byte> outside)
{
    const std::scoped_lock guard{state_->mutex};
    const std::span<std::byte> staged = state_->staging.bytes().first(memory.size());
    if (way == Way::into_memory)
        std::memcpy(staged.data(), outside.data(), staged.size());
    const Segment segment{Iova{reinterpret_cast<std::uintptr_t>(memory.data())},
                          static_cast<std::uint32_t>(memory.size()), key};
    state_->left->post_send({.opcode = way == Way::into_memory ? Opcode::rdma_read : Opcode::rdma_write,
                             .segments = {&segment, 1},
                             .remote_iova = state_->region.iova(),
                             .rkey = state_->region.rkey()});
    std::array<Completion, 1> done;
    while (state_->left->poll(done) == 0)
        std::this_thread::yield();
    if (done[0].status != WcStatus::success)
        return false;
    if (way == Way::out_of_memory)
        std::memcpy(outside.data(), staged.data(), staged.size());
    return true;
}

} // namespace mrz::test

// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include "keys.hpp"
#include "pin_failure.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mrz::soft {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(Trouble trouble, int error, const RegisterRequest& request, std::string limit,
                         std::string remedy)
{
    throw Error{error,
                {.trouble = trouble,
                 .what = "registering " + format_size(request.length) + " at " +
                         format_hex(reinterpret_cast<std::uintptr_t>(request.address)) + " with the software adapter",
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

void check(const RegisterRequest& request)
{
    check_access(request.access);
    if (request.options.paging == Paging::on_demand)
        refuse(Trouble::unsupported, EOPNOTSUPP, request, "the software adapter takes no page faults",
               "register it pinned");
    if (request.options.ordering == Ordering::relaxed)
        refuse(Trouble::unsupported, EOPNOTSUPP, request, "the software adapter never reorders writes",
               "ask for the best ordering, or strict");
    if (request.length == 0)
        refuse(Trouble::invalid, EINVAL, request, "it has no bytes", "name a range of memory that is there");
    if (reinterpret_cast<std::uintptr_t>(request.address) + (request.length - 1) <
            reinterpret_cast<std::uintptr_t>(request.address) ||
        request.iova.value() + (request.length - 1) < request.iova.value())
        refuse(Trouble::invalid, EINVAL, request, "it wraps around the address space", "choose a lower address");
    const Plan* const plan = request.plan;
    if (plan == nullptr || plan->keys.empty() || plan->bytes != request.length ||
        (plan->indirect ? plan->indirect->iova : plan->keys.front().iova) != request.iova ||
        (!plan->indirect && plan->keys.size() != 1))
        refuse(Trouble::invalid, EINVAL, request, "the plan is not for one key over just this memory",
               "plan it with the limits of this device");
}

//! Extents on the bus, each of which answers with the very bytes that were registered.
//!
//! A frame may be registered at several virtual addresses: mapped twice, moved, or read from the page table for
//! memory that was replaced meanwhile, so that it is not the frame that is pinned. As long as all of them are mapped
//! it does not matter which one answers. But a mapping may go before its registration does. So each address of a
//! frame has a name of its own on the bus, which differs above the bits of frames, as an IOMMU might give it.
class BusRanges {
  public:
    BusRanges(Adapter& adapter, const Layout& layout, std::byte* memory) : adapter_{adapter}
    {
        ranges_.reserve(layout.extents().size());
        const auto pause = adapter_.engine().pause();
        layout_ = named(layout, memory);
        try {
            for (const Extent& extent : layout_.extents()) {
                const Range range = whole_pages(extent, memory);
                adapter_.bus().add(range.at, range.bytes, range.length);
                ranges_.push_back(range);
            }
        } catch (...) {
            remove_all();
            throw;
        }
    }
    BusRanges(const BusRanges&) = delete;
    BusRanges& operator=(const BusRanges&) = delete;
    ~BusRanges() { reset(); }

    void reset() noexcept
    {
        if (ranges_.empty())
            return;
        const auto pause = adapter_.engine().pause();
        remove_all();
    }
    void abandon() noexcept { ranges_.clear(); }
    //! As it is on the bus.
    [[nodiscard]] const Layout& layout() const noexcept { return layout_; }

  private:
    struct Range {
        DmaAddress at;
        std::byte* bytes;
        std::uint64_t length;
    };
    // What is beyond the region is out of reach all the same: its keys end before.
    static Range whole_pages(const Extent& extent, std::byte* memory)
    {
        const std::uint64_t before = extent.dma.value() % ProcessBus::page;
        const std::uint64_t length =
            (before + extent.length + ProcessBus::page - 1) / ProcessBus::page * ProcessBus::page;
        return {DmaAddress{extent.dma.value() - before}, memory + extent.offset - before, length};
    }
    Layout named(const Layout& layout, std::byte* memory) const
    {
        static constexpr std::uint64_t names = std::uint64_t{1}
                                               << (ProcessBus::address_bits - ProcessBus::frame_bits);
        for (std::uint64_t name = 0; name < names; ++name) {
            Layout there;
            for (const Extent& extent : layout.extents())
                there.append(extent.dma + (name << ProcessBus::frame_bits), extent.length);
            if (std::ranges::all_of(there.extents(), [&](const Extent& extent) {
                    const Range range = whole_pages(extent, memory);
                    return adapter_.bus().agrees(range.at, range.bytes, range.length);
                }))
                return there;
        }
        throw Error{ENOSPC,
                    {.trouble = Trouble::unsupported,
                     .what = "registering " + format_size(layout.length()) + " with the software adapter",
                     .limit = "virtual addresses at which one page is registered",
                     .present = names,
                     .need = names + 1,
                     .remedy = "deregister some of them"}};
    }
    void remove_all() noexcept
    {
        for (const Range& range : ranges_)
            adapter_.bus().remove(range.at, range.bytes, range.length);
        ranges_.clear();
    }

    Adapter& adapter_;
    Layout layout_;
    std::vector<Range> ranges_;
};

class SoftMemory final : public RegisteredMemory {
  public:
    //! \p layout is of the memory as it is pinned; \p phases, what that took.
    SoftMemory(std::shared_ptr<Adapter> adapter, hca::Pd pd, const RegisterRequest& request, Pin pin,
               const Layout& layout, RegisterPhases phases)
        : adapter_{std::move(adapter)}, pin_{std::move(pin)}, phases_{phases}
    {
        const auto begin = Clock::now();
        ranges_.emplace(*adapter_, layout, request.address);
        keys_ = MemoryKeys{adapter_->engine(), pd, request.access, *request.plan, ranges_->layout()};
        phases_.tables = Clock::now() - begin;
    }
    SoftMemory(const SoftMemory&) = delete;
    SoftMemory& operator=(const SoftMemory&) = delete;
    ~SoftMemory() override
    {
        if (!adapter_->is_here()) { // the region is its parent's
            keys_.abandon();
            ranges_->abandon();
        }
        // Members go in this order: the keys, the ranges on the bus, and last the pin.
    }

    [[nodiscard]] LKey lkey() const noexcept override { return keys_.lkey(); }
    [[nodiscard]] RKey rkey() const noexcept override
    {
        const std::scoped_lock guard{reissuing_};
        return keys_.rkey();
    }
    RKey reissue() override
    {
        const std::scoped_lock guard{reissuing_};
        return keys_.reissue();
    }
    [[nodiscard]] std::optional<std::vector<BuiltKey>> query() const override
    {
        return keys_.query(adapter_->engine());
    }
    [[nodiscard]] std::size_t pinned_bytes() const noexcept override { return pin_.bytes(); }
    [[nodiscard]] RegisterPhases phases() const noexcept override { return phases_; }
    [[nodiscard]] std::optional<Ordering> ordering() const noexcept override { return Ordering::strict; }

  private:
    std::shared_ptr<Adapter> adapter_;
    Pin pin_;
    std::optional<BusRanges> ranges_;
    MemoryKeys keys_;
    mutable std::mutex reissuing_;
    RegisterPhases phases_;
};

} // namespace

std::vector<std::unique_ptr<RegisteredMemory>> register_many(const std::shared_ptr<Adapter>& adapter, hca::Pd pd,
                                                             std::span<const RegisterRequest> requests)
{
    std::vector<std::span<std::byte>> memories;
    memories.reserve(requests.size());
    for (const RegisterRequest& request : requests) {
        check(request);
        memories.emplace_back(request.address, request.length);
    }
    check_mappings(memories);
    std::vector<std::unique_ptr<RegisteredMemory>> registered;
    if (requests.empty())
        return registered;
    registered.reserve(requests.size());
    const auto begin = Clock::now();
    std::vector<Pin> pins = adapter->pinner().pin_all(memories);
    const auto pinned = Clock::now();
    const std::vector<std::span<const std::byte>> to_read{memories.begin(), memories.end()};
    const auto layouts = read_layouts(to_read, adapter->view());
    if (!layouts)
        refuse(Trouble::permission, EPERM, requests.front(),
               "frames could be read when the adapter was opened, and cannot now",
               "keep CAP_SYS_ADMIN, or drop it before the first domain is opened");
    const auto found = Clock::now();
    const auto count = static_cast<std::int64_t>(requests.size());
    const RegisterPhases share{.pin = (pinned - begin) / count, .map = (found - pinned) / count};
    for (std::size_t i = 0; i < requests.size(); ++i)
        registered.push_back(
            std::make_unique<SoftMemory>(adapter, pd, requests[i], std::move(pins[i]), (*layouts)[i], share));
    return registered;
}

} // namespace mrz::soft

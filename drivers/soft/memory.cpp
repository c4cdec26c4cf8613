// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include "pages.hpp"
#include "pin_failure.hpp"

#include <cerrno>
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
    if (request.plan == nullptr || request.plan->keys.size() != 1 ||
        request.plan->keys.front().length != request.length || request.plan->keys.front().iova != request.iova)
        refuse(Trouble::invalid, EINVAL, request, "the plan is not for one key over just this memory",
               "plan it with the limits of this device");
}

//! A key of the engine.
class OwnedKey {
  public:
    OwnedKey() = default;
    OwnedKey(hca::Hca& engine, hca::Mkey key) noexcept : engine_{&engine}, key_{key} {}
    OwnedKey(OwnedKey&& other) noexcept : engine_{std::exchange(other.engine_, nullptr)}, key_{other.key_} {}
    OwnedKey& operator=(OwnedKey&& other) noexcept
    {
        std::swap(engine_, other.engine_);
        std::swap(key_, other.key_);
        return *this;
    }
    ~OwnedKey() { reset(); }

    [[nodiscard]] hca::Mkey get() const noexcept { return key_; }
    void reset() noexcept
    {
        try {
            if (engine_ != nullptr)
                std::exchange(engine_, nullptr)->destroy_mkey(key_);
        } catch (const std::exception& error) { // nobody else destroys it, so only for want of memory
            log(Severity::error, std::string{"soft: a key could not be destroyed: "} + error.what());
        }
    }
    void abandon() noexcept { engine_ = nullptr; }

  private:
    hca::Hca* engine_ = nullptr;
    hca::Mkey key_;
};

//! Extents on the bus.
class BusRanges {
  public:
    BusRanges(Adapter& adapter, const Layout& layout, std::byte* memory) : adapter_{adapter}
    {
        ranges_.reserve(layout.extents().size());
        const auto pause = adapter_.engine().pause();
        try {
            for (const Extent& extent : layout.extents()) {
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
    void remove_all() noexcept
    {
        for (const Range& range : ranges_)
            adapter_.bus().remove(range.at, range.bytes, range.length);
        ranges_.clear();
    }

    Adapter& adapter_;
    std::vector<Range> ranges_;
};

class SoftMemory final : public RegisteredMemory {
  public:
    SoftMemory(std::shared_ptr<Adapter> adapter, hca::Pd pd, const RegisterRequest& request)
        : adapter_{std::move(adapter)}
    {
        const std::span<std::byte> memory{request.address, request.length};
        const auto begin = Clock::now();
        pin_ = adapter_->pinner().pin(memory);
        const auto pinned = Clock::now();
        const std::optional<Layout> layout = read_layout(memory, adapter_->view());
        if (!layout)
            refuse(Trouble::permission, EPERM, request,
                   "frames could be read when the adapter was opened, and cannot now",
                   "keep CAP_SYS_ADMIN, or drop it before the first domain is opened");
        const PageShift page = request.plan->keys.front().page_shift;
        std::vector<DmaAddress> pages = translation_pages(*layout, request.iova, page);
        const auto found = Clock::now();
        ranges_.emplace(*adapter_, *layout, request.address);
        make_keys(pd, request, page, std::move(pages));
        phases_ = {.pin = pinned - begin, .map = found - pinned, .tables = Clock::now() - found};
    }
    SoftMemory(const SoftMemory&) = delete;
    SoftMemory& operator=(const SoftMemory&) = delete;
    ~SoftMemory() override
    {
        if (!adapter_->is_here()) { // the region is its parent's
            lkey_.abandon();
            rkey_.abandon();
            ranges_->abandon();
        }
        // Members go in this order: the keys, the ranges on the bus, and last the pin.
    }

    [[nodiscard]] LKey lkey() const noexcept override { return LKey{lkey_.get().value}; }
    [[nodiscard]] RKey rkey() const noexcept override { return RKey{rkey_.get().value}; }
    [[nodiscard]] std::optional<std::vector<BuiltKey>> query() const override
    {
        const hca::MkeyInfo info = adapter_->engine().query_mkey(lkey_.get());
        return std::vector<BuiltKey>{{.iova = info.start,
                                      .length = info.length,
                                      .page_shift = PageShift{info.page_shift},
                                      .entries = info.entry_count}};
    }
    [[nodiscard]] std::size_t pinned_bytes() const noexcept override { return pin_.bytes(); }
    [[nodiscard]] RegisterPhases phases() const noexcept override { return phases_; }

  private:
    // Two records: on hardware one serves both sides, and mixing them up goes unnoticed until a peer is another
    // machine.
    void make_keys(hca::Pd pd, const RegisterRequest& request, PageShift page, std::vector<DmaAddress> pages)
    {
        hca::Hca& engine = adapter_->engine();
        hca::MkeySpec spec;
        spec.pd = pd;
        spec.start = request.iova;
        spec.length = request.length;
        spec.page_shift = page.value();
        const hca::KeyRights remote = hca::remote_rights(request.access);
        if (remote == hca::KeyRights::none) {
            rkey_ = OwnedKey{engine, engine.create_free_mkey(pd)};
        } else {
            spec.rights = remote;
            spec.pages = pages;
            rkey_ = OwnedKey{engine, engine.create_mkey(spec)};
        }
        spec.rights = hca::local_rights(request.access);
        spec.pages = std::move(pages);
        lkey_ = OwnedKey{engine, engine.create_mkey(std::move(spec))};
    }

    std::shared_ptr<Adapter> adapter_;
    Pin pin_;
    std::optional<BusRanges> ranges_;
    OwnedKey rkey_;
    OwnedKey lkey_;
    RegisterPhases phases_;
};

} // namespace

std::unique_ptr<RegisteredMemory> register_memory(std::shared_ptr<Adapter> adapter, hca::Pd pd,
                                                  const RegisterRequest& request)
{
    check(request);
    check_mappings({request.address, request.length});
    return std::make_unique<SoftMemory>(std::move(adapter), pd, request);
}

} // namespace mrz::soft

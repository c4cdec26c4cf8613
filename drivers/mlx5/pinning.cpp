// SPDX-License-Identifier: BSD-3-Clause
#include "pinning.hpp"

#include <verbs/failure.hpp>

#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <unistd.h>

namespace mrz::mlx5 {
namespace {

constexpr std::uint64_t smallest_page = 4096;

//! The kernel takes the largest page size that is offered and fits, so none larger than was planned is: by its rule
//! for umems the memory's own addresses do not count, but a key over the umem has to agree with it.
mlx5dv_devx_umem* register_umem(const verbs::Context& context, const PinRequest& request, bool writes)
{
    mlx5dv_devx_umem_in in{};
    in.addr = request.memory.data();
    in.size = request.memory.size();
    in.access = writes ? IBV_ACCESS_LOCAL_WRITE : 0;
    in.pgsz_bitmap = (request.key.page_shift.bytes() << 1) - smallest_page;
    errno = 0;
    return ::mlx5dv_devx_umem_reg_ex(context.get(), &in);
}

} // namespace

Pinning::Pinning(std::shared_ptr<verbs::Context> context, const PinRequest& request)
    : context_{std::move(context)}, memory_{request.memory}, key_{request.key}
{
    umem_ = register_umem(*context_, request, true);
    // Memory that may only be read; a kernel that pins for writing whatever is asked for refuses it again.
    if (umem_ == nullptr && !request.writes && (errno == EFAULT || errno == EPERM || errno == EACCES)) {
        umem_ = register_umem(*context_, request, false);
        writable_ = false;
    }
    if (umem_ == nullptr)
        throw verbs::registration_failure(errno == 0 ? EIO : errno, *context_, memory_.data(), memory_.size(),
                                          request.writes, false);
    try {
        if (request.view == DmaView::frames)
            layout_ = read_layout(memory_, DmaView::frames);
    } catch (...) {
        ::mlx5dv_devx_umem_dereg(umem_);
        throw;
    }
}

Pinning::~Pinning()
{
    if (!context_->is_ours()) // its parent's
        return;
    if (listed_)
        listed_->remove(*this);
    if (const int error = ::mlx5dv_devx_umem_dereg(umem_); error != 0)
        log(Severity::error, "mlx5: memory of " + context_->name() +
                                 " could not be deregistered, and stays pinned: " + std::strerror(error));
}

std::uint32_t Pinning::umem_id() const noexcept
{
    return umem_->umem_id;
}

Pinnings::~Pinnings()
{
    // A copy that a child made by fork has may be one that another thread was about to change.
    if (owner_ != ::getpid())
        static_cast<void>(by_address_.release());
}

void Pinnings::add(const std::shared_ptr<Pinning>& pinning)
{
    if (!pinning->layout())
        return;
    const auto address = reinterpret_cast<std::uintptr_t>(pinning->memory().data());
    const std::scoped_lock guard{mutex_};
    by_address_->emplace(address, Listed{pinning.get(), pinning});
    longest_ = std::max(longest_, pinning->memory().size());
    pinning->listed_ = shared_from_this();
}

void Pinnings::remove(const Pinning& pinning) noexcept
{
    const auto address = reinterpret_cast<std::uintptr_t>(pinning.memory().data());
    const std::scoped_lock guard{mutex_};
    auto [at, end] = by_address_->equal_range(address);
    at = std::find_if(at, end, [&](const auto& entry) { return entry.second.pinning == &pinning; });
    if (at != end)
        by_address_->erase(at);
    if (by_address_->empty())
        longest_ = 0;
}

std::vector<PinnedPiece> Pinnings::covering(std::span<std::byte> memory, const Layout& layout, bool writes,
                                            Sharing sharing) const
{
    if (sharing == Sharing::never)
        return {};
    // Who holds the last reference gives a pinning up, which takes the lock: not here.
    std::vector<std::shared_ptr<const Pinning>> held;
    const Wanted wanted{.begin = reinterpret_cast<std::uintptr_t>(memory.data()),
                        .layout = layout,
                        .writes = writes,
                        .longest = sharing == Sharing::similar ? 2 * memory.size() : ~std::size_t{0},
                        .held = held};
    std::size_t kept = 0; // bytes that would stay pinned
    std::vector<PinnedPiece> pieces;
    const std::scoped_lock guard{mutex_};
    for (std::size_t done = 0; done < memory.size();) {
        auto pinning = reaching_farthest(wanted.begin + done, wanted);
        if (!pinning)
            return {};
        const auto end = reinterpret_cast<std::uintptr_t>(pinning->memory().data()) + pinning->memory().size();
        const std::size_t length = std::min(end - wanted.begin, memory.size()) - done;
        kept += pinning->memory().size();
        pieces.push_back({std::move(pinning), done, length});
        done += length;
    }
    return kept <= wanted.longest ? pieces : std::vector<PinnedPiece>{};
}

std::shared_ptr<const Pinning> Pinnings::reaching_farthest(std::uintptr_t address, const Wanted& wanted) const
{
    std::shared_ptr<const Pinning> best;
    std::uintptr_t farthest = address;
    for (auto at = by_address_->upper_bound(address); at != by_address_->begin();) {
        --at;
        // None that begins farther away reaches the address, or is short enough.
        if (address - at->first >= std::min(longest_, wanted.longest))
            break;
        // Whoever is just being given up is found no more. The place is made first: were there no memory for it, the
        // last reference would go here.
        wanted.held.emplace_back();
        auto pinning = wanted.held.back() = at->second.alive.lock();
        if (!pinning || (wanted.writes && !pinning->writable()) || pinning->memory().size() > wanted.longest)
            continue;
        const std::uintptr_t end = at->first + pinning->memory().size();
        if (end <= farthest)
            continue;
        const std::size_t length =
            std::min<std::size_t>(end - address, wanted.begin + wanted.layout.length() - address);
        const Layout there = pinning->layout()->part(address - at->first, length);
        const Layout now = wanted.layout.part(address - wanted.begin, length);
        if (!std::ranges::equal(there.extents(), now.extents()))
            continue;
        farthest = end;
        best = std::move(pinning);
    }
    return best;
}

} // namespace mrz::mlx5

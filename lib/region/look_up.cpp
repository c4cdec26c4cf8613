// SPDX-License-Identifier: BSD-3-Clause
#include "look_up.hpp"

#include <mrzone/reader.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <sys/mman.h>

namespace mrz {
namespace {

constexpr std::size_t slots_size = MRZ_LOOKUP_SLOTS_ * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
constexpr std::uint64_t slot_size = std::uint64_t{1} << MRZ_LOOKUP_SLOT_SHIFT_;

//! Beyond this somebody has forgotten a reader.
constexpr std::size_t much_waiting = std::size_t{256} << 20;

//! Null on failure, with errno.
void* map_view(std::size_t length)
{
    // First without access and unlocked: under mlockall(MCL_FUTURE) all of it would be filled and charged.
    void* const address = ::mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
        return nullptr;
    ::munlock(address, length);
    if (::mprotect(address, length, PROT_READ | PROT_WRITE) == 0 &&
        ::madvise(address, length, MADV_WIPEONFORK) == 0) {
        // A slot that is read or set is to take a page and no more.
        ::madvise(address, length, MADV_NOHUGEPAGE);
        ::madvise(address, length, MADV_DONTDUMP);
        return address;
    }
    const int error = errno;
    ::munmap(address, length);
    errno = error;
    return nullptr;
}

std::uint64_t slot_of(std::uint64_t address) noexcept
{
    return address >> MRZ_LOOKUP_SLOT_SHIFT_;
}

} // namespace

ViewMapping::ViewMapping()
{
    length_ = sizeof(mrz_lookup_head_) + slots_size;
    void* address = map_view(length_);
    const bool has_slots = address != nullptr;
    if (!has_slots) {
        log_once(Severity::warning, "no address space for look-ups' slots (" + format_size(slots_size) +
                                        "): " + std::strerror(errno) + "; arenas are searched as other regions are");
        length_ = sizeof(mrz_lookup_head_);
        address = map_view(length_);
    }
    if (address == nullptr)
        throw Error{errno,
                    {.trouble = Trouble::invalid,
                     .what = "mapping a page for look-ups",
                     .limit = std::string{"mmap: "} + std::strerror(errno),
                     .remedy = "check ulimit -v and vm.max_map_count"}};
    head_ = static_cast<mrz_lookup_head_*>(address);
    head_->slot_count = has_slots ? MRZ_LOOKUP_SLOTS_ : 0;
}

ViewMapping::~ViewMapping()
{
    ::munmap(head_, length_);
}

LookUp::LookUp() : quiescence_{Reader::most} {}

LookUp::~LookUp()
{
    while (retired_) // one by one: a chain that frees itself would need a stack as long
        retired_ = std::move(retired_->next);
}

LookUp::Listing LookUp::announce(std::uint64_t start, std::uint64_t length, bool lasting)
{
    const std::uint64_t end = start + std::min(length, UINT64_MAX - start);
    Memories memory;
    if (!lasting)
        memory.insert({start, {.start = start, .end = end}});
    const std::scoped_lock guard{mutex_};
    Listing listing;
    listing.region_ = {.start = start, .end = end, .number = next_number_++};
    if (!lasting) {
        const std::scoped_lock gate{gate_};
        listing.memory_ = memories_.insert(memory.extract(memory.begin()));
        longest_ = std::max(longest_, end - start);
        listing.region_.foreign = &listing.memory_->second;
    }
    listing.look_up_ = this;
    return listing;
}

void LookUp::list(Listing& listing, LKey key, Access access)
{
    std::size_t waiting = 0;
    {
        const std::scoped_lock guard{mutex_};
        SearchedRegion& region = listing.region_;
        region.key = key.value;
        region.writable = grants(access, Access::local_write);
        if (region.foreign == nullptr && fits_free_slots(region)) {
            fill_slots(region);
            listing.is_ = Listing::Is::in_slots;
        } else {
            drop_gone();
            if (is_gone(region)) // from now on publish() sees to it
                return;
            searched_.insert(std::ranges::upper_bound(searched_, region, std::less<>{}), region);
            try {
                change_tables(region.writable);
            } catch (...) {
                searched_.erase(std::ranges::lower_bound(searched_, region, std::less<>{}));
                throw;
            }
            listing.is_ = Listing::Is::searched;
        }
        waiting = waiting_bytes_;
    }
    complain(waiting);
}

void LookUp::remove(Listing& listing) noexcept
{
    if (owner_ != ::getpid())
        return;
    const SearchedRegion& region = listing.region_;
    const std::scoped_lock guard{mutex_};
    if (listing.is_ == Listing::Is::in_slots) {
        empty_slots(region);
    } else if (listing.is_ == Listing::Is::searched) {
        drop_gone();
        const auto place = std::ranges::lower_bound(searched_, region, std::less<>{});
        if (place != searched_.end() && place->number == region.number)
            searched_.erase(place);
        try {
            change_tables(region.writable);
        } catch (const std::bad_alloc&) {
            // What it hid is missed until the next change, but a stale key is not found.
            patchy_ = true;
            const std::scoped_lock gate{gate_};
            for (const std::unique_ptr<SegmentTable>& table : current_)
                if (table)
                    table->forget(region);
        }
    }
    if (region.foreign != nullptr)
        forget_memory(listing);
}

void LookUp::forget_memory(const Listing& listing) noexcept
{
    Memories::node_type memory; // freed after the gate was given back
    const std::scoped_lock gate{gate_};
    hidden_ -= listing.memory_->second.gone ? 1 : 0;
    memory = memories_.extract(listing.memory_);
    if (memories_.empty())
        longest_ = 0;
}

bool LookUp::fits_free_slots(const SearchedRegion& region) noexcept
{
    if (!region.writable || ((region.start | region.end) & (slot_size - 1)) != 0 ||
        slot_of(region.end) > view_.head().slot_count)
        return false;
    // Whoever came first keeps them; the other is searched. So is who comes so soon that a reader could have seen the
    // end of who left, and read this one's key.
    std::erase_if(left_, [this](const Left& left) { return quiescence_.passed(left.token); });
    return std::all_of(view_.ends() + slot_of(region.start), view_.ends() + slot_of(region.end),
                       [](std::uint64_t end) { return end == 0; }) &&
           std::ranges::none_of(left_,
                                [&](const Left& left) { return left.start < region.end && region.start < left.end; });
}

void LookUp::fill_slots(const SearchedRegion& region)
{
    left_.reserve(left_.size() + in_slots_ + 1);
    for (std::uint64_t slot = slot_of(region.start); slot < slot_of(region.end); ++slot)
        __atomic_store_n(&view_.keys()[slot], region.key, __ATOMIC_RELAXED);
    for (std::uint64_t slot = slot_of(region.start); slot < slot_of(region.end); ++slot)
        __atomic_store_n(&view_.ends()[slot], region.end, __ATOMIC_RELEASE);
    ++in_slots_;
}

void LookUp::empty_slots(const SearchedRegion& region) noexcept
{
    for (std::uint64_t slot = slot_of(region.start); slot < slot_of(region.end); ++slot)
        __atomic_store_n(&view_.ends()[slot], 0, __ATOMIC_RELEASE);
    --in_slots_;
    left_.push_back({region.start, region.end, quiescence_.start()});
}

bool LookUp::is_gone(const SearchedRegion& region) const noexcept
{
    const std::scoped_lock gate{gate_};
    return region.foreign != nullptr && region.foreign->gone;
}

void LookUp::drop_gone() noexcept
{
    const std::scoped_lock gate{gate_};
    if (dropped_ == hidings_)
        return;
    dropped_ = hidings_;
    std::erase_if(searched_,
                  [](const SearchedRegion& region) { return region.foreign != nullptr && region.foreign->gone; });
    patchy_ = true;
}

void LookUp::change_tables(bool writable_too)
{
    writable_too = writable_too || patchy_;
    // Both before either is seen.
    auto to_write = writable_too ? SegmentTable::make(searched_, true) : nullptr;
    auto to_read = SegmentTable::make(searched_, false);
    if (writable_too)
        publish(MRZ_LOOKUP_TO_WRITE_, std::move(to_write));
    publish(MRZ_LOOKUP_TO_READ_, std::move(to_read));
    patchy_ = false;
    free_retired();
}

void LookUp::show(std::size_t which) noexcept
{
    __atomic_store_n(&view_.head().tables[which], current_[which] ? current_[which]->get() : nullptr,
                     __ATOMIC_RELEASE);
}

void LookUp::publish(int use, std::unique_ptr<SegmentTable> table) noexcept
{
    const auto which = static_cast<std::size_t>(use);
    {
        const std::scoped_lock guard{gate_};
        if (table && dropped_ != hidings_) // something went while it was made
            table->forget_gone();
        current_[which].swap(table);
        if (shut_ == 0)
            show(which);
    }
    if (table)
        retire(std::move(table));
}

void LookUp::retire(std::unique_ptr<SegmentTable> table) noexcept
{
    table->token = quiescence_.start();
    ++waiting_;
    waiting_bytes_ += table->bytes();
    std::unique_ptr<SegmentTable>& place = retired_ ? last_retired_->next : retired_;
    place = std::move(table);
    last_retired_ = place.get();
}

void LookUp::free_retired() noexcept
{
    while (retired_ && quiescence_.passed(retired_->token)) {
        --waiting_;
        waiting_bytes_ -= retired_->bytes();
        retired_ = std::move(retired_->next);
    }
}

void LookUp::complain(std::size_t waiting) noexcept
try {
    if (waiting > much_waiting)
        log_once(Severity::warning, "more than " + format_size(much_waiting) +
                                        " of old look-up tables wait for a reader that is neither quiescent nor "
                                        "offline");
} catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
    // It is said the next time.
}

unsigned LookUp::enter()
{
    const std::scoped_lock guard{mutex_};
    if (const std::optional<unsigned> reader = quiescence_.enter())
        return *reader;
    throw Error{EMFILE,
                {.trouble = Trouble::busy,
                 .what = "making a reader",
                 .limit = "readers of a domain",
                 .present = Reader::most,
                 .need = Reader::most + 1,
                 .remedy = "destroy readers of threads that have ended"}};
}

void LookUp::leave(unsigned reader) noexcept
{
    if (owner_ != ::getpid())
        return;
    const std::scoped_lock guard{mutex_};
    quiescence_.leave(reader);
    free_retired();
}

void LookUp::shut() noexcept
{
    const std::scoped_lock guard{gate_};
    ++shut_;
    for (const mrz_lookup_table_*& table : view_.head().tables)
        __atomic_store_n(&table, nullptr, __ATOMIC_SEQ_CST);
}

void LookUp::wait_until_told() const noexcept
{
    if (::getpid() != owner_) // in a child nobody opens
        return;
    std::uint32_t openings = 0;
    {
        const std::scoped_lock guard{gate_};
        if (shut_ == 0)
            return;
        openings = openings_.load();
    }
    openings_.wait(openings);
}

void LookUp::open() noexcept
{
    const std::scoped_lock guard{gate_};
    if (--shut_ != 0)
        return;
    openings_.fetch_add(1);
    openings_.notify_all();
    for (std::size_t which = 0; which < current_.size(); ++which)
        show(which);
}

LookUpSnapshot LookUp::snapshot() const
{
    const std::scoped_lock guard{mutex_, gate_};
    const std::unique_ptr<SegmentTable>& all = current_[MRZ_LOOKUP_TO_READ_];
    // Those that went stay here until the next change only, so seldom is there anything to count.
    const auto gone = dropped_ == hidings_ ? 0 : std::ranges::count_if(searched_, [](const SearchedRegion& region) {
        return region.foreign != nullptr && region.foreign->gone;
    });
    return {.regions = searched_.size() - static_cast<std::size_t>(gone) + in_slots_,
            .in_slots = in_slots_,
            .segments = all ? all->segments() : 0,
            .tables_waiting = waiting_,
            .bytes_waiting = waiting_bytes_,
            .readers = quiescence_.readers(),
            .shut = shut_ != 0,
            .hidden = hidden_};
}

} // namespace mrz

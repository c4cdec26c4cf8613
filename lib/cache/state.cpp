// SPDX-License-Identifier: BSD-3-Clause
#include "state.hpp"

#include <cerrno>
#include <string>

namespace mrz {

using cache::Holding;
using cache::Mark;
using cache::Record;
using cache::Registry;

namespace {

const CacheOptions& checked(const CacheOptions& options)
{
    static constexpr std::size_t most_keys = std::size_t{1} << 20;
    const char* wrong = nullptr;
    if (options.bytes == 0 || options.entries == 0)
        wrong = "a budget is zero";
    else if (options.keys == 0 || options.keys > most_keys)
        wrong = "the number of keys is not 1 to 1,048,576";
    else if (options.deregister_bytes == 0 || options.deregister_keys == 0)
        wrong = "a rate of deregistration is zero: nothing would ever be given back";
    else if (options.batch_threads == 0)
        wrong = "a batch has no thread to be registered by";
    if (wrong != nullptr)
        throw Error{EINVAL,
                    {.trouble = Trouble::invalid,
                     .what = "making a cache",
                     .limit = wrong,
                     .remedy = "choose another value for this option"}};
    return options;
}

} // namespace

CacheState::CacheState(const Domain& domain, const CacheOptions& options)
    : options_{checked(options)}, domain_{domain}, held_(options.keys),
      budget_{.bytes = options.bytes, .keys = options.keys, .entries = options.entries}, look_up_{domain}
{
    cache::prepare_barrier();
    marks_ = std::make_unique<Mark[]>(options_.keys);
    holdings_ = std::make_unique<Holding[]>(options_.keys);
    for (std::uint32_t i = 0; i < options_.keys; ++i)
        holdings_[i].index = i;
    // What is done when there is no memory, or nobody to tell, finds room.
    for (auto* const list : {&vacant_, &on_their_way_, &alive_, &newest_, &dying_, &chosen_})
        list->reserve(options_.keys);
    rows_.reserve(options_.keys);
    published_ = std::make_unique<cache::Table>();
    table_.store(published_.get());
    make_bell();
    start_watch();
    dpdk_.emplace(static_cast<cache::DpdkListener&>(*this));
    id_ = Registry::get().add(*this);
    try {
        listed_.emplace(*this, domain_.name());
        start_thread();
    } catch (...) {
        Registry::get().remove(*this);
        throw;
    }
}

CacheState::~CacheState()
{
    Registry::get().remove(*this);
}

void CacheState::invalidate(std::span<const std::byte> memory) noexcept
{
    const cache::Range range = cache::range_of(memory);
    if (range.begin >= range.end || forked())
        return;
    std::uint64_t ended = 0;
    const std::uint32_t places = places_.load();
    for (std::uint32_t index = 0; index < places; ++index)
        ended += marks_[index].end_if_touching(range) ? 1 : 0;
    if (ended == 0)
        return;
    invalidations_.fetch_add(ended);
    note_release();
}

bool CacheState::has_ended(const Holding* holding) const noexcept
{
    const auto offset = reinterpret_cast<std::uintptr_t>(holding) - reinterpret_cast<std::uintptr_t>(holdings_.get());
    return offset / sizeof(Holding) < options_.keys && marks_[offset / sizeof(Holding)].is() == Mark::Is::ended;
}

void CacheState::set_pending(bool pending) noexcept
{
    if (pending) {
        gate_.fetch_add(1);
        return;
    }
    gate_.fetch_sub(1);
    gate_.notify_all();
}

CacheSnapshot CacheState::snapshot(std::uint64_t number) const
{
    if (forked())
        wait_at_gate(); // throws
    const std::scoped_lock guard{mutex_};
    CacheSnapshot now{.number = number,
                      .domain = domain_.number(),
                      .misses = misses_,
                      .evictions = evictions_,
                      .merges = merges_,
                      .invalidations = invalidations_.load(),
                      .waits = waits_,
                      .deregistered = deregistered_,
                      .unkept = unkept_.load(),
                      .keys = used_.keys,
                      .bytes = used_.bytes,
                      .entries = used_.entries,
                      .budget_bytes = options_.bytes,
                      .budget_keys = options_.keys,
                      .budget_entries = options_.entries,
                      .watched = watch_ != nullptr};
    records_.for_each([&](const Record& record) {
        now.hits += record.hits();
        record.for_each_held([&](const Holding*) { ++now.leases; });
    });
    for (const std::uint32_t index : alive_)
        now.regions += marks_[index].is() == Mark::Is::alive ? 1 : 0;
    return now;
}

void CacheState::close()
{
    if (forked())
        wait_at_gate(); // throws
    if ((gate_.fetch_or(closed_bit) & closed_bit) != 0)
        return;
    std::uint64_t leases = 0;
    const bool known = cache::everybody_published();
    records_.for_each([&](const Record& record) { record.for_each_held([&](const Holding*) { ++leases; }); });
    if (leases > 0 || !known) {
        gate_.fetch_and(~closed_bit);
        gate_.notify_all();
        if (leases == 0)
            throw Error{
                EPERM,
                {.trouble = Trouble::permission,
                 .what = "closing a cache",
                 .limit = "membarrier is refused, which was granted before, so it is not known what is leased",
                 .remedy = "allow membarrier(2) (a seccomp profile)"}};
        throw Error{EBUSY,
                    {.trouble = Trouble::busy,
                     .what = "closing a cache",
                     .limit = "number of leases that hold its regions",
                     .present = leases,
                     .need = 0,
                     .remedy = "release them first"}};
    }
    shut();
}

} // namespace mrz

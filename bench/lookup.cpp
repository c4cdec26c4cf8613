// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Looking up the key of an address and a length, beside what it comes down to. Every subject reads an address and a
//! length and writes a key, as for a work request. With another thread that looks up all the
//! time, the figure is still one thread's.
#include "lookup.hpp"

#include "each_use.hpp"
#include "subject.hpp"

#include <mrzone/reader.hpp>
#include <mrzone/region.hpp>

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace bench {

namespace {

constexpr std::size_t small_page = 4_KiB;
constexpr std::size_t lookups = 4096; // that are different; a power of two
constexpr std::size_t arena_regions = 8;
constexpr std::size_t arena_region_size = 32_MiB;

enum class Order { random, sequential };

//! What is looked up, and where the key goes.
struct Work {
    const std::byte* address = nullptr;
    std::uint32_t length = 0;
    std::uint32_t key = 0;
};

//! Addresses, and memory where it is touched, aligned to 2 MiB.
class Addresses {
  public:
    explicit Addresses(std::size_t length) : length_{length + page_size}
    {
        void* const address =
            mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (address == MAP_FAILED)
            throw std::system_error{errno, std::generic_category(), "mmap"};
        mapping_ = static_cast<std::byte*>(address);
    }
    Addresses(const Addresses&) = delete;
    Addresses& operator=(const Addresses&) = delete;
    ~Addresses() { munmap(mapping_, length_); }

    [[nodiscard]] std::byte* begin() const noexcept
    {
        return mapping_ + (page_size - reinterpret_cast<std::uintptr_t>(mapping_) % page_size) % page_size;
    }

  private:
    std::size_t length_;
    std::byte* mapping_ = nullptr;
};

//! A domain, and regions in it that look-ups find.
struct Registered {
    explicit Registered(std::size_t address_length) : addresses{address_length} {}

    void add(std::span<std::byte> memory, bool lasting = false)
    {
        regions.push_back(domain.register_memory(memory, mrz::Access::local_write, {.lasting = lasting}));
    }
    [[nodiscard]] std::vector<Work> work(Order order) const
    {
        std::mt19937_64 random{42};
        std::vector<Work> all(lookups);
        for (std::size_t i = 0; i < lookups; ++i) {
            const std::size_t number =
                order == Order::random ? random() % regions.size() : i * regions.size() / lookups;
            const std::span<std::byte> bytes = regions[number].bytes();
            const auto length = static_cast<std::uint32_t>(64 + random() % 1400);
            all[i] = {.address = bytes.data() + random() % (bytes.size() - length), .length = length};
        }
        return all;
    }

    Addresses addresses;
    mrz::Domain domain = mrz::Domain::open("soft");
    std::vector<mrz::Region> regions; // ascending
};

std::mutex registered_mutex;
std::map<std::size_t, std::unique_ptr<Registered>> foreign_by_count;
std::unique_ptr<Registered> arena_like;

//! \p count pages, with one to three that are not registered between each and the next.
const Registered& foreign(std::size_t count)
{
    const std::scoped_lock guard{registered_mutex};
    std::unique_ptr<Registered>& there = foreign_by_count[count];
    if (!there) {
        auto made = std::make_unique<Registered>(count * 4 * small_page);
        std::mt19937_64 random{1};
        std::byte* at = made->addresses.begin();
        for (std::size_t i = 0; i < count; ++i) {
            made->add({at, small_page});
            at += small_page * (2 + random() % 3);
        }
        there = std::move(made);
    }
    return *there;
}

//! Regions as an arena's blocks are, side by side, of ordinary pages.
const Registered& arena()
{
    const std::scoped_lock guard{registered_mutex};
    if (!arena_like) {
        auto made = std::make_unique<Registered>(arena_regions * arena_region_size);
        for (std::size_t i = 0; i < arena_regions; ++i)
            made->add({made->addresses.begin() + i * arena_region_size, arena_region_size}, true);
        arena_like = std::move(made);
    }
    return *arena_like;
}

//! Has \p find, which gives the number of a key, fill in one piece of work after another.
template <class Find>
auto filling_in(std::vector<Work>& work, Find find)
{
    return [all = work.data(), find](std::size_t at) {
        Work& one = all[at % lookups];
        one.key = find(one);
        benchmark::ClobberMemory();
    };
}

//! A thread's own reader, and what it looks up.
class Looker {
  public:
    Looker(const Registered& registered, Order order) : work_{registered.work(order)}, reader_{registered.domain}
    {
        for (const Work& one : work_)
            if (!reader_.lookup(one.address, one.length))
                throw std::runtime_error{"a region was not found"};
    }
    auto use()
    {
        return filling_in(work_, [this](const Work& one) {
            const auto key = reader_.lookup(one.address, one.length);
            return key ? (*key).value : 0;
        });
    }

  private:
    std::vector<Work> work_;
    mrz::Reader reader_;
};

void time_reader(benchmark::State& state, const Registered& registered, Order order, bool another)
{
    Looker looker{registered, order};
    std::optional<Looker> others;
    std::optional<AtWorkElsewhere> other;
    if (another)
        other.emplace(others.emplace(registered, order).use());
    time_each(state, looker.use());
}

void lookup_arena(benchmark::State& state, bool another)
{
    run(state, [&] { time_reader(state, arena(), Order::random, another); });
}

void lookup_foreign(benchmark::State& state, std::size_t count, Order order, bool another)
{
    run(state, [&] { time_reader(state, foreign(count), order, another); });
}

void baseline_constant(benchmark::State& state)
{
    run(state, [&] {
        std::vector<Work> work = arena().work(Order::random);
        time_each(state, filling_in(work, [](const Work&) { return 7u; }));
    });
}

//! A shift, a bound and a load: a program that knows its one arena, and asks for nothing else.
void baseline_table(benchmark::State& state)
{
    run(state, [&] {
        struct Table {
            std::uintptr_t begin = 0;
            std::size_t bound = 0;
            std::vector<std::uint32_t> keys = {};
        };
        const Registered& registered = arena();
        Table table{.begin = reinterpret_cast<std::uintptr_t>(registered.addresses.begin())};
        for (const mrz::Region& region : registered.regions)
            table.keys.insert(table.keys.end(), region.bytes().size() / page_size, region.lkey().value);
        table.bound = table.keys.size();
        std::vector<Work> work = registered.work(Order::random);
        benchmark::DoNotOptimize(&table);
        time_each(state, filling_in(work, [&table](const Work& one) {
                      const std::size_t slot =
                          (reinterpret_cast<std::uintptr_t>(one.address) - table.begin) / page_size;
                      return slot < table.bound ? table.keys[slot] : 0;
                  }));
    });
}

void baseline_map(benchmark::State& state, std::size_t count)
{
    run(state, [&] {
        const Registered& registered = foreign(count);
        std::map<std::uintptr_t, std::pair<std::uintptr_t, std::uint32_t>> map;
        for (const mrz::Region& region : registered.regions) {
            const auto begin = reinterpret_cast<std::uintptr_t>(region.bytes().data());
            map[begin] = {begin + region.bytes().size(), region.lkey().value};
        }
        std::vector<Work> work = registered.work(Order::random);
        time_each(state, filling_in(work, [&map](const Work& one) {
                      const auto begin = reinterpret_cast<std::uintptr_t>(one.address);
                      const auto after = map.upper_bound(begin);
                      if (after == map.begin())
                          return 0u;
                      const auto& [end, key] = std::prev(after)->second;
                      return begin < end && one.length <= end - begin ? key : 0u;
                  }));
    });
}

//! Which of ascending starts an address follows, without a branch that chance decides, and no more than that.
void baseline_sorted(benchmark::State& state, std::size_t count)
{
    run(state, [&] {
        const Registered& registered = foreign(count);
        std::vector<std::uintptr_t> starts;
        for (const mrz::Region& region : registered.regions)
            starts.push_back(reinterpret_cast<std::uintptr_t>(region.bytes().data()));
        starts.resize(std::bit_ceil(starts.size()), UINTPTR_MAX);
        std::vector<Work> work = registered.work(Order::random);
        time_each(state, filling_in(work, [&starts](const Work& one) {
                      const auto address = reinterpret_cast<std::uintptr_t>(one.address);
                      const std::uintptr_t* at = starts.data();
                      for (std::size_t step = starts.size() / 2; step != 0; step /= 2)
                          at = __builtin_expect_with_probability(at[step] <= address, 1, 0.5) ? at + step : at;
                      return static_cast<std::uint32_t>(at - starts.data());
                  }));
    });
}

[[maybe_unused]] const bool subjects = [] {
    constexpr std::size_t usual = 1024;
    benchmark::RegisterBenchmark("baseline/constant", baseline_constant)->Apply(many_uses);
    benchmark::RegisterBenchmark("baseline/table", baseline_table)->Apply(many_uses);
    benchmark::RegisterBenchmark("baseline/map", baseline_map, usual)->Apply(many_uses);
    benchmark::RegisterBenchmark("baseline/sorted", baseline_sorted, usual)->Apply(many_uses);
    for (const bool another : {false, true}) {
        const std::string suffix = another ? "/two_threads" : "";
        benchmark::RegisterBenchmark(("lookup/arena" + suffix).c_str(), lookup_arena, another)->Apply(many_uses);
        for (const std::size_t count : {1, 8, 64, 1024, 16384})
            for (const Order order : {Order::random, Order::sequential})
                benchmark::RegisterBenchmark(("lookup/foreign/" + std::to_string(count) +
                                              (order == Order::random ? "/random" : "/sequential") + suffix)
                                                 .c_str(),
                                             lookup_foreign, count, order, another)
                    ->Apply(many_uses);
    }
    return true;
}();

} // namespace

void release_lookups() noexcept
{
    const std::scoped_lock guard{registered_mutex};
    foreign_by_count.clear();
    arena_like.reset();
}

} // namespace bench

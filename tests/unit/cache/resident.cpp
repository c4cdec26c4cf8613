// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Look-up of resident regions whose memory goes away, in a domain with a watched cache.
#include "watched.hpp"

#include <mrzone/reader.hpp>

#include "support/in_child.hpp"

#include "state.hpp"

#include <atomic>
#include <functional>
#include <new>

namespace mrz::test {
namespace {

using namespace mrz::literals;

class ResidentMemory : public WatchedMemory {
  protected:
    void SetUp() override
    {
        WatchedMemory::SetUp();
        if (!IsSkipped() && !HasFatalFailure())
            reader.emplace(*domain);
    }
    void TearDown() override
    {
        reader.reset();
        WatchedMemory::TearDown();
    }
    Region registered(std::span<std::byte> bytes) { return domain->register_memory(bytes, Access::local_write); }
    [[nodiscard]] bool found(std::span<const std::byte> bytes) const
    {
        return static_cast<bool>(reader->lookup(bytes.data(), bytes.size()));
    }
    //! Of regions of pages 3 and 4, 8 and 40, only those of 8 and of what stays are found afterwards.
    void expect_to_hide_those_of(std::initializer_list<std::size_t> hidden, const std::function<void()>& change)
    {
        const std::array<Region, 4> regions{registered(at(3)), registered(at(4)), registered(at(8)),
                                            registered(at(40))};
        ASSERT_TRUE(std::ranges::all_of(regions, [&](const Region& region) { return found(region.bytes()); }));
        change();
        for (const Region& region : regions) {
            const auto page_number = static_cast<std::size_t>(region.bytes().data() - memory.data()) / page;
            const bool is_hidden = std::ranges::find(hidden, page_number) != hidden.end();
            // Before the mark is taken down what stays is not found either.
            if (is_hidden)
                EXPECT_FALSE(found(region.bytes())) << "page " << page_number;
            else
                wait_until([&] { return found(region.bytes()); });
        }
        for (const Region& region : regions)
            EXPECT_EQ(found(region.bytes()),
                      std::ranges::find(hidden, static_cast<std::size_t>(region.bytes().data() - memory.data()) /
                                                    page) == hidden.end());
        wait_until([&] { return domain->look_up_snapshot().hidden == hidden.size(); }); // counted after they miss
        EXPECT_EQ(script().registered, 4) << "a region stays until its owner ends it";
    }

    std::optional<Reader> reader;
};

TEST_F(ResidentMemory, ThatIsUnmappedIsNotFound)
{
    expect_to_hide_those_of({4}, [&] { munmap(at(4).data(), page); });
}

TEST_F(ResidentMemory, ThatIsMappedOverIsNotFound)
{
    expect_to_hide_those_of({3, 4}, [&] {
        ASSERT_NE(
            mmap(at(3).data(), 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
    });
}

TEST_F(ResidentMemory, ThatIsMovedIsFoundNeitherHereNorThere)
{
    expect_to_hide_those_of({3, 40}, [&] {
        ASSERT_EQ(mremap(at(3).data(), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(40).data()), at(40).data());
    });
}

TEST_F(ResidentMemory, ThatIsDiscardedIsNotFound)
{
    expect_to_hide_those_of({3}, [&] { ASSERT_EQ(madvise(at(3).data(), page, MADV_DONTNEED), 0); });
}

TEST_F(ResidentMemory, IsNotFoundWhenAnyPartOfItWent)
{
    const Region region = registered(at(3, 5));
    munmap(at(7).data(), page);
    EXPECT_FALSE(found(at(3)));
    EXPECT_FALSE(found(at(3, 5)));
}

TEST_F(ResidentMemory, ThatCameBeforeTheCacheIsToldOfToo)
{
    cache.reset();
    const Region region = registered(at(3));
    cache.emplace(*domain, alone({.watch = Watch::userfaultfd}));
    EXPECT_TRUE(found(at(3)));
    munmap(at(3).data(), page);
    EXPECT_FALSE(found(at(3)));
}

TEST_F(ResidentMemory, IsNobodysBusinessWithoutACache)
{
    cache.reset();
    const Region region = registered(at(3));
    EXPECT_EQ(watched_mappings(), 0u);
    munmap(at(3).data(), page);
    EXPECT_TRUE(found(at(3)));
    wait_until([] { return threads_named("mrz-watch") == 0; });
    cache.emplace(*domain, alone({.watch = Watch::userfaultfd}));
}

TEST_F(ResidentMemory, IsNobodysBusinessAfterTheLastCache)
{
    const Region region = registered(at(3));
    const Lease lease = cache->lease(at(9)); // which lives longer than its cache
    EXPECT_EQ(watched_mappings(), 1u);
    cache.reset();
    EXPECT_EQ(watched_mappings(), 0u);
    EXPECT_TRUE(found(at(3)));
}

TEST_F(ResidentMemory, OfAnotherDomainIsNotWatched)
{
    const Domain other = Domain::open("soft");
    const Region region = other.register_memory(at(3), Access::local_write);
    EXPECT_EQ(watched_mappings(), 0u);
}

TEST_F(ResidentMemory, IsFoundUnderItsNewKeyWhileTheOldRegionIsStillThere)
{
    const Region old = registered(at(3));
    munmap(at(3).data(), page);
    map_again(at(3));
    EXPECT_FALSE(found(at(3)));
    const Region anew = registered(at(3));
    wait_until([&] { return found(at(3)); });
    EXPECT_EQ(reader->lookup(at(3).data(), page), anew.lkey());
}

TEST_F(ResidentMemory, ThatGoesWhileItIsRegisteredIsNotFound)
{
    script().on_register = [&](const RegisterRequest&) {
        munmap(at(3).data(), page);
        map_again(at(3)); // and nobody watches it
    };
    const Region region = registered(at(3));
    EXPECT_FALSE(found(at(3)));
    wait_until([&] { return domain->look_up_snapshot().hidden == 1; }); // a little later than that
}

TEST_F(ResidentMemory, WithinOneThatWentIsFoundAgain)
{
    const Region around = registered(at(2, 8));
    const Region within = registered(at(4, 2));
    EXPECT_EQ(reader->lookup(at(4).data(), page), around.lkey());
    munmap(at(8).data(), page);
    wait_until([&] { return found(at(4)); });
    EXPECT_EQ(reader->lookup(at(4).data(), page), within.lkey());
    EXPECT_FALSE(found(at(3)));
}

TEST_F(ResidentMemory, IsNotFoundByAnotherThreadThatBeginsAfterItWent)
{
    std::atomic<std::uint32_t> went = 0; // the key of the last one
    std::atomic<bool> stop = false;
    std::atomic<unsigned> hits = 0;
    std::thread looks{[&] {
        Reader own{*domain};
        while (!stop) {
            const std::uint32_t before = went;
            if (const auto key = own.lookup(at(3).data(), page)) {
                EXPECT_NE((*key).value, before);
                ++hits;
            }
            own.quiescent();
        }
    }};
    for (unsigned i = 0; i < 500 || hits < 100; ++i) {
        const Region region = registered(at(3, 2));
        munmap(at(4).data(), page);
        EXPECT_FALSE(found(at(3)));
        went = region.lkey().value;
        map_again(at(4));
        reader->quiescent();
    }
    stop = true;
    looks.join();
}

TEST_F(ResidentMemory, OfArenasIsFoundWhileOtherMemoryGoes)
{
    void* const mapped = mmap(nullptr, 4_MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const auto address = (reinterpret_cast<std::uintptr_t>(mapped) + 2_MiB - 1) / 2_MiB * 2_MiB;
    const std::span block{reinterpret_cast<std::byte*>(address), 2_MiB};
    {
        const Region arena = domain->register_memory(block, Access::local_write, {.lasting = true});
        ASSERT_EQ(domain->look_up_snapshot().in_slots, 1u);
        const Region foreign = registered(at(3));
        std::atomic<bool> stop = false;
        std::atomic<unsigned> went = 0;
        std::thread unmaps{[&] {
            while (!stop) {
                munmap(at(9).data(), page);
                ++went;
                map_again(at(9));
                static_cast<void>(key_of(at(9))); // puts it under watch
            }
        }};
        for (std::uint64_t looked = 0; looked < 20'000 || went < 100; ++looked) {
            ASSERT_EQ(reader->lookup(block.data() + looked % 1000, 8), arena.lkey());
            reader->quiescent();
        }
        stop = true;
        unmaps.join();
        EXPECT_TRUE(found(at(3)));
    }
    munmap(mapped, 4_MiB);
}

TEST_F(ResidentMemory, ThatComesAndGoesForEverLeavesNothingBehind)
{
    const cache::ProcessWatch watch;
    for (int i = 0; i < 1000; ++i) {
        void* const some = mmap(nullptr, page, PROT_READ | PROT_WRITE,
                                i % 2 == 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(some, MAP_FAILED);
        {
            const Region region = registered({static_cast<std::byte*>(some), page});
        }
        munmap(some, page);
    }
    EXPECT_LT(watch.watcher().mappings(), 100u);
}

TEST_F(ResidentMemory, OfAParentIsNotItsChilds)
{
    const Region region = registered(at(3));
    in_child([&] {
        alarm(30);
        munmap(at(3).data(), page);
        EXPECT_FALSE(found(at(3)));
    });
    EXPECT_TRUE(found(at(3)));
}

} // namespace
} // namespace mrz::test

// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/foreign_memory.hpp>
#include <mrzone/reader.hpp>

#include "support/fake_driver.hpp"
#include "support/in_child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace mrz::test {
namespace {

using namespace mrz::literals;
using testing::HasSubstr;

class ReaderTest : public testing::Test {
  protected:
    void SetUp() override { script() = {}; }

    Region registered(std::span<std::byte> bytes, std::uint32_t key, Access access = Access::local_write,
                      const RegionOptions& options = {})
    {
        script().lkey = key;
        return domain.register_memory(bytes, access, options);
    }

    std::vector<std::byte> memory = std::vector<std::byte>(100'000);
    Domain domain = Domain::open("soft");
};

TEST_F(ReaderTest, FindsARegionForAsLongAsItLives)
{
    const Reader reader{domain};
    const std::span<std::byte> part = std::span{memory}.subspan(100, 1000);
    EXPECT_EQ(reader.lookup(part.data(), 1), std::nullopt);
    std::optional<Region> region = registered(part, 7);
    EXPECT_EQ(reader.lookup(part.data(), part.size()), LKey{7});
    EXPECT_EQ(reader.lookup(part.data(), part.size() + 1), std::nullopt);
    ASSERT_TRUE(reader.reach(part.data() + 10, 1).has_value());
    EXPECT_EQ(reader.reach(part.data() + 10, 1)->key, LKey{7});
    EXPECT_EQ(reader.reach(part.data() + 10, 1)->length, 990u);
    EXPECT_FALSE(reader.reach(part.data() + 10, 991).has_value());
    Region moved = std::move(*region);
    region.reset();
    EXPECT_EQ(reader.lookup(part.data(), 1), LKey{7});
    moved = registered(std::span{memory}.first(10), 8);
    EXPECT_EQ(reader.lookup(part.data(), 1), std::nullopt);
    EXPECT_EQ(reader.lookup(memory.data(), 10), LKey{8});
}

TEST_F(ReaderTest, IsNotFoundAnyMoreWhenDeregisteringBegins)
{
    const Reader reader{domain};
    std::optional<Region> region = registered(memory, 7);
    bool found = true;
    script().on_deregister = [&](LKey) { found = static_cast<bool>(reader.lookup(memory.data(), 1)); };
    region.reset();
    EXPECT_FALSE(found);
}

TEST_F(ReaderTest, ToWriteNeedsARegionThatGrantsIt)
{
    const Reader reader{domain};
    const Region region = registered(memory, 7, Access::remote_read);
    EXPECT_EQ(reader.lookup(memory.data(), 1), std::nullopt);
    EXPECT_FALSE(reader.reach(memory.data(), 1).has_value());
    EXPECT_EQ(reader.lookup_to_read(memory.data(), memory.size()), LKey{7});
    EXPECT_EQ(reader.reach_to_read(memory.data() + 1, 5)->length, memory.size() - 1);
}

TEST_F(ReaderTest, DoesNotFindARegionWithAnIovaOfItsOwn)
{
    const Reader reader{domain};
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const Region region = registered(memory, 7, Access::local_write, {.iova = Iova{address + 4096}});
    EXPECT_EQ(reader.lookup(memory.data(), 1), std::nullopt);
    EXPECT_EQ(domain.look_up_snapshot().regions, 0u);
}

TEST_F(ReaderTest, WholeSlotsOfLastingMemoryAreFoundWithoutASearch)
{
    const std::unique_ptr<void, decltype(&std::free)> pages{std::aligned_alloc(2_MiB, 4_MiB), &std::free};
    const Region region =
        registered({static_cast<std::byte*>(pages.get()), 4_MiB}, 7, Access::local_write, {.lasting = true});
    EXPECT_EQ(domain.look_up_snapshot().in_slots, 1u);
    EXPECT_EQ(Reader{domain}.lookup(pages.get(), 4_MiB), LKey{7});
}

TEST_F(ReaderTest, ARegistrationThatFailsLeavesNothingToFind)
{
    script().on_query = [](std::vector<BuiltKey>& built) { built.front().entries += 1; };
    EXPECT_THROW(static_cast<void>(registered(memory, 7)), Error);
    EXPECT_EQ(domain.look_up_snapshot().regions, 0u);
    EXPECT_EQ(Reader{domain}.lookup(memory.data(), 1), std::nullopt);
}

TEST_F(ReaderTest, KeepsItsDomainFromBeingClosed)
{
    std::optional<Reader> reader{domain};
    try {
        domain.close();
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EBUSY);
        EXPECT_THAT(error.cause().limit, HasSubstr("reader"));
    }
    Reader other = std::move(*reader);
    reader.reset();
    EXPECT_EQ(domain.look_up_snapshot().readers, 1u);
    other = Reader{Domain::open("soft")};
    EXPECT_EQ(domain.look_up_snapshot().readers, 0u);
    domain.close();
    EXPECT_THROW(Reader{domain}, Error);
}

TEST_F(ReaderTest, AreSoManyAndNoMore)
{
    std::deque<Reader> readers;
    for (unsigned i = 0; i < Reader::most; ++i)
        readers.emplace_back(domain);
    try {
        readers.emplace_back(domain);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EMFILE);
        EXPECT_EQ(error.cause().present, Reader::most);
        EXPECT_EQ(error.cause().need, Reader::most + 1u);
    }
    readers.pop_front();
    EXPECT_NO_THROW(readers.emplace_back(domain));
}

TEST_F(ReaderTest, OfAnotherLayoutIsRefusedNamingBoth)
{
    try {
        const Reader reader{domain, MRZ_LOOKUP_LAYOUT + 1};
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOTSUP);
        EXPECT_THAT(std::string{error.what()},
                    testing::AllOf(HasSubstr("layout " + std::to_string(MRZ_LOOKUP_LAYOUT)),
                                   HasSubstr("layout " + std::to_string(MRZ_LOOKUP_LAYOUT + 1))));
    }
    EXPECT_EQ(domain.look_up_snapshot().readers, 0u);
}

TEST_F(ReaderTest, OfAnyThreadLetsOldTablesGoByBeingQuiescentOrOffline)
{
    Reader reader{domain};
    const auto change = [&] { static_cast<void>(registered(memory, 7)); };
    const auto waiting = [&] { return domain.look_up_snapshot().tables_waiting; };
    change();
    EXPECT_GT(waiting(), 0u);
    std::thread{[&] { reader.offline(); }}.join();
    change();
    EXPECT_EQ(waiting(), 0u);
    std::thread{[&] { reader.online(); }}.join();
    change();
    const std::size_t before = waiting();
    EXPECT_GT(before, 0u);
    reader.quiescent();
    change();
    EXPECT_LE(waiting(), before);
}

TEST_F(ReaderTest, InAChildOfForkFindsNothingAndNoneIsMade)
{
    const std::unique_ptr<void, decltype(&std::free)> pages{std::aligned_alloc(2_MiB, 2_MiB), &std::free};
    const Region in_slots =
        registered({static_cast<std::byte*>(pages.get()), 2_MiB}, 7, Access::local_write, {.lasting = true});
    std::optional<Region> searched = registered(memory, 8);
    std::optional<Reader> reader{domain};
    in_child([&] {
        alarm(30); // SIGALRM ends what hangs
        EXPECT_EQ(reader->lookup(pages.get(), 1), std::nullopt);
        EXPECT_EQ(reader->lookup(memory.data(), 1), std::nullopt);
        reader->quiescent();
        reader->offline();
        reader->online();
        try {
            const Reader other{domain};
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), ENOTSUP);
        }
        EXPECT_THROW(static_cast<void>(domain.look_up_snapshot()), Error);
        searched.reset();
        reader.reset();
    });
    EXPECT_EQ(reader->lookup(pages.get(), 1), LKey{7});
    EXPECT_EQ(reader->lookup(memory.data(), 1), LKey{8});
}

//! Whether the thread of this process sleeps.
bool sleeps(pid_t thread)
{
    std::ifstream stat{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string number, name, state;
    stat >> number >> name >> state;
    return state == "S";
}

// Whoever unmapped memory may map other there and register it before those are told who watch.
TEST_F(ReaderTest, FindsARegionMadeWhileWhatWasThereEarlierIsBeingHidden)
{
    const Reader reader{domain};
    WatchedLookUp watched{domain};
    const std::span<std::byte> bytes = std::span{memory}.first(5000);
    const Region old = registered(bytes, 1);
    watched.shut();
    std::optional<Region> anew;
    std::atomic<pid_t> thread = 0;
    std::atomic<bool> done = false;
    std::thread registers{[&] {
        thread = ::gettid();
        anew.emplace(registered(bytes, 2));
        done = true;
    }};
    while (!done && (thread == 0 || !sleeps(thread)))
        std::this_thread::yield();
    EXPECT_TRUE(watched.hide(bytes));
    watched.open();
    registers.join();
    EXPECT_EQ(reader.lookup(bytes.data(), bytes.size()), LKey{2});
}

} // namespace
} // namespace mrz::test

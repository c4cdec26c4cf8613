// SPDX-License-Identifier: BSD-3-Clause
#include "look_up.hpp"

#include "lookup_in_c.h"
#include "support/in_child.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>

namespace mrz::test {
namespace {

constexpr std::uint64_t slot = std::uint64_t{1} << MRZ_LOOKUP_SLOT_SHIFT_;

class LookUpTest : public testing::Test {
  protected:
    [[nodiscard]] looked_up find(std::uint64_t address, std::uint64_t length, bool to_read = false) const
    {
        const mrz_reader reader{look_up.view()};
        return look_up_in_c(&reader, to_read, reinterpret_cast<const void*>(address), length);
    }
    //! 0: nothing.
    [[nodiscard]] std::uint32_t key(std::uint64_t address, std::uint64_t length, bool to_read = false) const
    {
        return find(address, length, to_read).key.value;
    }
    LookUp::Listing list(std::uint64_t start, std::uint64_t length, std::uint32_t value,
                         Access access = Access::local_write, bool lasting = true)
    {
        auto listing = look_up.announce(start, length, lasting);
        look_up.list(listing, LKey{value}, access);
        return listing;
    }

    LookUp look_up;
};

TEST_F(LookUpTest, FindsExactlyTheRegion)
{
    EXPECT_EQ(key(0x1000, 1), 0u);
    {
        const auto listed = list(0x1000, 0x100, 7);
        EXPECT_EQ(key(0x1000, 0x100), 7u);
        EXPECT_EQ(key(0x10ff, 1), 7u);
        EXPECT_EQ(key(0x1000, 0x101), 0u);
        EXPECT_EQ(key(0xfff, 1), 0u);
        EXPECT_EQ(key(0xfff, 2), 0u);
        EXPECT_EQ(key(0x1100, 1), 0u);
        EXPECT_EQ(find(0x1010, 1).reach, 0xf0u);
    }
    EXPECT_EQ(key(0x1000, 1), 0u);
}

TEST_F(LookUpTest, RangesThatWrapOrAreLongerThanAnyRegionAreCoveredByNothing)
{
    const auto searched = list(0x1000, 0x100, 1);
    const auto in_slots = list(slot, slot, 2);
    for (const std::uint64_t address : {std::uint64_t{0x1000}, std::uint64_t{0x1080}, slot, slot + 1})
        for (const std::uint64_t length :
             {UINT64_MAX, std::uint64_t{1} << 53, std::uint64_t{1} << 52, std::uint64_t{1} << 47,
              UINT64_MAX - address, UINT64_MAX - address + 1, UINT64_MAX - address + 2, std::uint64_t{1} << 63})
            EXPECT_EQ(key(address, length), 0u) << address << ' ' << length;
}

TEST_F(LookUpTest, NoBytesCountAsOne)
{
    const auto searched = list(0x1000, 0x100, 1);
    const auto in_slots = list(2 * slot, slot, 2);
    for (const auto& [address, found] : {std::pair{std::uint64_t{0xfff}, 0u},
                                         {0x1000, 1u},
                                         {0x10ff, 1u},
                                         {0x1100, 0u},
                                         {2 * slot - 1, 0u},
                                         {2 * slot, 2u},
                                         {3 * slot - 1, 2u},
                                         {3 * slot, 0u}}) {
        EXPECT_EQ(key(address, 0), found) << address;
        EXPECT_EQ(key(address, 1), found) << address;
    }
    EXPECT_EQ(key(0, 0), 0u);
}

TEST_F(LookUpTest, TheEndsOfTheAddressSpaceAreNoTrouble)
{
    const auto last = list(UINT64_MAX - 0xfff, 0x1000, 1);
    const auto first = list(0, 0x1000, 2);
    EXPECT_EQ(key(0, 0x1000), 2u);
    EXPECT_EQ(key(0, 0x1001), 0u);
    EXPECT_EQ(key(UINT64_MAX - 0xfff, 0xfff), 1u);
    EXPECT_EQ(key(UINT64_MAX - 0xfff, 0x1001), 0u);
    EXPECT_EQ(key(UINT64_MAX - 1, 1), 1u);
    EXPECT_EQ(key(UINT64_MAX, 2), 0u);
    EXPECT_EQ(key(std::uint64_t{1} << 47, 1), 0u);
}

TEST_F(LookUpTest, WritingNeedsLocalWriteAndReadingDoesNot)
{
    const auto readable = list(0x1000, 0x1000, 1, Access::local_read);
    const auto writable = list(0x1800, 0x100, 2, Access::local_write | Access::remote_read);
    const auto whole_slots = list(slot, slot, 3, Access::remote_read);
    EXPECT_EQ(key(0x1000, 1), 0u);
    EXPECT_EQ(key(0x1000, 1, true), 1u);
    EXPECT_EQ(key(0x1800, 0x100), 2u);
    EXPECT_EQ(key(0x1800, 0x100, true), 1u);
    EXPECT_EQ(key(slot, slot), 0u);
    EXPECT_EQ(key(slot, slot, true), 3u);
}

TEST_F(LookUpTest, WholeSlotsAreFoundWithoutASearchAndWhatLiesOverThemByOne)
{
    const auto block = list(slot, 3 * slot, 1);
    EXPECT_EQ(look_up.snapshot().in_slots, 1u);
    EXPECT_EQ(look_up.snapshot().segments, 0u);
    EXPECT_EQ(key(slot, 3 * slot), 1u);
    EXPECT_EQ(find(2 * slot + 5, 1).reach, 2 * slot - 5);
    EXPECT_EQ(key(4 * slot - 1, 2), 0u);
    EXPECT_EQ(key(slot - 1, 2), 0u);
    {
        const auto over = list(3 * slot, 2 * slot, 2); // slots of which another has one
        EXPECT_EQ(look_up.snapshot().in_slots, 1u);
        EXPECT_EQ(key(4 * slot - 1, 2), 2u);
        EXPECT_EQ(key(4 * slot - 1, 1), 1u);
    }
    EXPECT_EQ(key(4 * slot - 1, 1), 1u);
    EXPECT_EQ(key(4 * slot - 1, 2), 0u);
}

TEST_F(LookUpTest, WhatMayGoAwayIsSearchedThoughItIsWholeSlots)
{
    const auto listed = list(slot, slot, 1, Access::local_write, false);
    EXPECT_EQ(look_up.snapshot().in_slots, 0u);
    EXPECT_EQ(key(slot, slot), 1u);
    look_up.shut();
    EXPECT_EQ(key(slot, slot), 0u);
    look_up.open();
}

TEST_F(LookUpTest, NothingIsAtTheBeginningOfTheAddressSpace)
{
    const auto listed = list(2 * slot, slot, 0);
    for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1}, slot - 1, slot, 2 * slot - 1})
        for (const std::uint64_t length : {0, 1, 2})
            EXPECT_EQ(find(address, length).reach, 0u) << address << ' ' << length;
    EXPECT_EQ(find(2 * slot, 1).reach, slot) << "whose key is 0";
}

TEST_F(LookUpTest, SlotsWaitForReadersBeforeAnotherKeyIsInThem)
{
    const unsigned reader = look_up.enter();
    std::optional block = list(2 * slot, 2 * slot, 1);
    block.reset();
    {
        const auto early = list(3 * slot, 2 * slot, 2);
        EXPECT_EQ(look_up.snapshot().in_slots, 0u) << "a reader may have seen where the first one ended";
        EXPECT_EQ(key(3 * slot, 2 * slot), 2u);
        const auto beside = list(5 * slot, slot, 3);
        EXPECT_EQ(look_up.snapshot().in_slots, 1u);
    }
    look_up.quiescence().quiescent(reader);
    const auto again = list(3 * slot, 2 * slot, 4);
    EXPECT_EQ(look_up.snapshot().in_slots, 1u);
    EXPECT_EQ(key(3 * slot, 2 * slot), 4u);
    look_up.leave(reader);
}

TEST_F(LookUpTest, SlotsThatAreGivenBackCanBeTakenAgain)
{
    std::optional block = list(slot, slot, 1);
    block.reset();
    EXPECT_EQ(key(slot, 1), 0u);
    const auto again = list(slot, 2 * slot, 2);
    EXPECT_EQ(look_up.snapshot().in_slots, 1u);
    EXPECT_EQ(key(slot, 1), 2u);
}

TEST_F(LookUpTest, WhileShutSearchesMissAndSlotsDoNotCare)
{
    const auto searched = list(0x1000, 0x100, 1);
    const auto in_slots = list(slot, slot, 2);
    look_up.shut();
    look_up.shut();
    EXPECT_TRUE(look_up.snapshot().shut);
    EXPECT_EQ(key(0x1000, 1), 0u);
    EXPECT_EQ(key(0x1000, 1, true), 0u);
    EXPECT_EQ(key(slot, 1), 2u);
    const auto later = list(0x2000, 0x100, 3);
    EXPECT_EQ(key(0x2000, 1), 0u);
    look_up.open();
    EXPECT_EQ(key(0x1000, 1), 0u);
    look_up.open();
    EXPECT_EQ(key(0x1000, 1), 1u);
    EXPECT_EQ(key(0x2000, 1), 3u);
    EXPECT_FALSE(look_up.snapshot().shut);
}

TEST_F(LookUpTest, WhatIsRemovedWhileShutIsNotFoundAfterwards)
{
    std::optional searched = list(0x1000, 0x100, 1);
    look_up.shut();
    searched.reset();
    look_up.open();
    EXPECT_EQ(key(0x1000, 1), 0u);
}

TEST_F(LookUpTest, OldTablesWaitForReadersThatAreOnlineAndNotQuiescent)
{
    std::vector<LookUp::Listing> listed;
    const auto change = [&] { listed.push_back(list(0x1000 * (listed.size() + 1), 0x100, 1)); };
    const auto waiting = [&] { return look_up.snapshot().tables_waiting; };
    change();
    change();
    EXPECT_EQ(waiting(), 0u) << "nobody reads";
    const unsigned busy = look_up.enter();
    const unsigned other = look_up.enter();
    EXPECT_EQ(look_up.snapshot().readers, 2u);
    change();
    change();
    EXPECT_EQ(waiting(), 4u) << "those to write and those to read of two changes";
    EXPECT_GT(look_up.snapshot().bytes_waiting, 0u);
    look_up.quiescence().quiescent(busy);
    change();
    EXPECT_EQ(waiting(), 6u) << "the other has not said so";
    look_up.quiescence().quiescent(other);
    change();
    EXPECT_EQ(waiting(), 4u) << "the busy one may have had the last but one";
    look_up.quiescence().offline(busy);
    look_up.quiescence().quiescent(busy); // stays offline
    look_up.quiescence().quiescent(other);
    change();
    EXPECT_EQ(waiting(), 2u);
    look_up.quiescence().offline(other);
    change();
    EXPECT_EQ(waiting(), 0u);
    look_up.quiescence().online(busy);
    change();
    EXPECT_EQ(waiting(), 2u);
    look_up.leave(busy);
    EXPECT_EQ(waiting(), 0u);
    look_up.leave(other);
    EXPECT_EQ(look_up.snapshot().bytes_waiting, 0u);
}

//! Kibibytes, of /proc/self/status.
std::uint64_t status(const std::string& name)
{
    std::ifstream lines{"/proc/self/status"};
    for (std::string word; lines >> word;)
        if (word == name + ':') {
            std::uint64_t value = 0;
            lines >> value;
            return value;
        }
    ADD_FAILURE() << name;
    return 0;
}

TEST(LookUpMemory, IsNeitherFilledNorLockedWhereTheProcessLocksAllItMaps)
{
    in_child([] {
        if (mlockall(MCL_FUTURE) != 0)
            return; // the limit on locked memory: then there are no slots, as below
        const std::uint64_t locked = status("VmLck");
        const LookUp look_up;
        EXPECT_LT(status("VmLck") - locked, 4096u);
    });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which need address space of their own
TEST(LookUpMemory, WithoutAddressSpaceForSlotsEverythingIsSearchedWhichIsSaid)
{
    in_child([] {
        std::string said;
        set_log_sink([&said](Severity, std::string_view line) { said += line; });
        const rlim_t limit = status("VmSize") * 1024 + (64 << 20);
        const rlimit lowered{limit, limit};
        ASSERT_EQ(setrlimit(RLIMIT_AS, &lowered), 0);
        LookUp look_up;
        auto listed = look_up.announce(slot, slot, true);
        look_up.list(listed, LKey{7}, Access::local_write);
        EXPECT_EQ(look_up.snapshot().in_slots, 0u);
        const mrz_reader reader{look_up.view()};
        EXPECT_EQ(look_up_in_c(&reader, 0, reinterpret_cast<const void*>(slot), slot).key.value, 7u);
        EXPECT_NE(said.find("768 MiB"), std::string::npos) << said;
    });
}
#endif

//! What look-ups must find, by trying all regions.
struct Model {
    struct One {
        std::uint64_t start, end;
        std::uint32_t key;
        bool writable;
        bool lasting;
        LookUp::Listing listing;
    };
    std::vector<One> regions;

    [[nodiscard]] bool covers(const One& one, std::uint64_t address, std::uint64_t length, bool to_read) const
    {
        return (to_read || one.writable) && one.start <= address && address < one.end && length <= one.end - address;
    }
    [[nodiscard]] bool any_covers(std::uint64_t address, std::uint64_t length, bool to_read) const
    {
        return std::ranges::any_of(regions, [&](const One& one) { return covers(one, address, length, to_read); });
    }
};

class LookUpProperty : public LookUpTest {
  protected:
    //! A region that has something to do with one that is there, or that has nothing to do with any.
    void add(std::uint64_t granule)
    {
        const auto number = [&](std::uint64_t most) { return random() % most; };
        std::uint64_t start = (1 + number(60)) * granule;
        std::uint64_t length = (1 + number(12)) * granule;
        if (!model.regions.empty() && number(3) != 0) {
            const Model::One& other = model.regions[number(model.regions.size())];
            switch (number(5)) {
            case 0: // adjacent
                start = other.end;
                break;
            case 1: // nested
                start = other.start + number((other.end - other.start - 1) / granule + 1) * granule;
                length = other.end - start;
                break;
            case 2: // the same
                start = other.start;
                length = other.end - other.start;
                break;
            case 3: // over its end
                start = other.start + (other.end - other.start) / 2 / granule * granule;
                length = other.end - start + granule * (1 + number(4));
                break;
            default: // around it
                start = other.start - std::min(other.start, granule);
                length = other.end - start + granule;
            }
        }
        if (length > 1 && number(8) == 0)
            length -= 1; // not whole slots
        const auto key = ++last_key;
        static constexpr Access rights[] = {Access::local_read,
                                            Access::remote_read,
                                            Access::local_write,
                                            Access::local_write | Access::remote_read,
                                            Access::local_write | Access::remote_write,
                                            Access::local_write};
        const Access access = rights[number(std::size(rights))];
        // An arena's memory and other, side by side: only the former comes into slots.
        const bool lasting = number(3) != 0;
        model.regions.push_back({start, start + length, key, grants(access, Access::local_write), lasting,
                                 list(start, length, key, access, lasting)});
    }
    void remove()
    {
        const auto victim = static_cast<std::ptrdiff_t>(random() % model.regions.size());
        std::swap(model.regions[static_cast<std::size_t>(victim)], model.regions.back());
        model.regions.pop_back();
    }
    //! An address and a length near to where something begins or ends.
    void check(std::uint64_t granule)
    {
        std::uint64_t address = random() % (80 * granule);
        std::uint64_t length = 1 + random() % (8 * granule);
        if (!model.regions.empty() && random() % 4 != 0) {
            const Model::One& one = model.regions[random() % model.regions.size()];
            address = one.start + random() % (one.end - one.start + 2) - 1;
            if (random() % 2 == 0)
                length = one.end - address + random() % 3 - 1;
        }
        const bool to_read = random() % 2 == 0;
        const looked_up found = find(address, length, to_read);
        if (found.reach == 0) {
            ASSERT_FALSE(!shut && model.any_covers(address, length, to_read)) << std::hex << address << ' ' << length;
            return;
        }
        const auto one = std::ranges::find(model.regions, found.key.value, &Model::One::key);
        ASSERT_NE(one, model.regions.end()) << "a stale key for " << std::hex << address << ' ' << length;
        ASSERT_TRUE(model.covers(*one, address, length, to_read)) << std::hex << address << ' ' << length;
        ASSERT_EQ(found.reach, one->end - address);
        ASSERT_TRUE(one->lasting || !shut) << "what may be gone, for " << std::hex << address << ' ' << length;
    }

    void run(std::uint64_t granule)
    {
        for (std::uint32_t seed = 0; seed < 24; ++seed) {
            random.seed(seed);
            model.regions.clear();
            for (unsigned change = 0; change < 250; ++change) {
                // Now and then few, now and then many.
                const bool grows = random() % 100 < (change / 50 % 2 == 0 ? 75u : 30u);
                if (grows || model.regions.empty())
                    add(granule);
                else
                    remove();
                // Changes come while it is shut, too.
                if (random() % 8 == 0 && std::exchange(shut, !shut))
                    look_up.open();
                else if (shut && !look_up.snapshot().shut)
                    look_up.shut();
                for (unsigned i = 0; i < 50; ++i)
                    ASSERT_NO_FATAL_FAILURE(check(granule)) << "seed " << seed << ", change " << change;
                in_slots += look_up.snapshot().in_slots;
                searched += look_up.snapshot().segments;
            }
            if (std::exchange(shut, false))
                look_up.open();
            for (unsigned i = 0; i < 50; ++i)
                ASSERT_NO_FATAL_FAILURE(check(granule)) << "seed " << seed << ", at its end";
            EXPECT_EQ(look_up.snapshot().regions, model.regions.size());
        }
        model.regions.clear();
        EXPECT_EQ(look_up.snapshot().regions, 0u);
    }

    std::mt19937_64 random;
    Model model;
    std::uint32_t last_key = 0;
    bool shut = false;
    std::size_t in_slots = 0; // after each change, added up
    std::size_t searched = 0;
};

TEST_F(LookUpProperty, FindsAKeyWhereOneCoversAllAndOnlyThenInSearches)
{
    run(64);
    EXPECT_EQ(in_slots, 0u);
    EXPECT_GT(searched, 1000u);
}

TEST_F(LookUpProperty, FindsAKeyWhereOneCoversAllAndOnlyThenInSlots)
{
    run(slot);
    EXPECT_GT(in_slots, 1000u);
    EXPECT_GT(searched, 1000u);
}

TEST_F(LookUpProperty, FindsAKeyWhereOneCoversAllAndOnlyThenWhereRegionsBeginAndEndWithinSlots)
{
    run(slot / 2);
    EXPECT_GT(in_slots, 1000u);
    EXPECT_GT(searched, 1000u);
}

} // namespace
} // namespace mrz::test

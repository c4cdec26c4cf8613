// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An adapter's own limits, met through a domain: on adapters so small that they can be.
#include "device.hpp"

#include <mrzone/host.hpp>
#include <mrzone/region.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mrz {
namespace {

//! The adapter that the next domain is opened on.
std::shared_ptr<soft::Adapter>& small_adapter()
{
    static std::shared_ptr<soft::Adapter> adapter;
    return adapter;
}

} // namespace

// The table of drivers that lib/region opens devices by.
std::span<const Driver> drivers()
{
    static const std::array<Driver, 1> table{{{
        .name = "soft",
        .list = [] { return std::vector<std::string>{"small"}; },
        .open = [](std::string_view) { return soft::make_device(small_adapter()); },
    }}};
    return table;
}

namespace soft {
namespace {

using testing::HasSubstr;

class AdapterLimits : public testing::Test {
  protected:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t pages = 32;

    void TearDown() override { small_adapter().reset(); }

    static Domain open(const hca::HcaOptions& options)
    {
        small_adapter() = std::make_shared<Adapter>(options);
        return Domain::open("small");
    }
    static std::uint64_t held()
    {
        const host::LockedMemory memory = host::locked_memory();
        return memory.pinned.value_or(0) + memory.locked.value_or(0);
    }
    static hca::HcaCounters counters() { return small_adapter()->engine().counters(); }
    std::span<std::byte> page_at(std::size_t index) { return std::span{*memory_}.subspan(index * page, page); }

    //! Fails unless registering is refused for \p limit, and leaves everything as it was.
    void expect_refused(const Domain& domain, std::span<std::byte> memory, Access access, const std::string& limit,
                        std::uint64_t present, std::uint64_t need)
    {
        const std::uint64_t before = held();
        const hca::HcaCounters counted = counters();
        try {
            const Region region = domain.register_memory(memory, access);
            ADD_FAILURE() << "it was registered";
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), ENOMEM) << error.what();
            EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
            EXPECT_THAT(error.cause().limit, HasSubstr(limit));
            EXPECT_EQ(error.cause().present, present);
            EXPECT_EQ(error.cause().need, need);
            EXPECT_NE(error.cause().remedy, "");
        }
        EXPECT_EQ(held(), before);
        EXPECT_EQ(counters().keys, counted.keys);
        EXPECT_EQ(counters().translations, counted.translations);
    }

    struct alignas(page) Pages : std::array<std::byte, pages * page> {};
    std::unique_ptr<Pages> memory_ = std::make_unique<Pages>();
};

constexpr Access all_rights = Access::local_write | Access::remote_read | Access::remote_write;

TEST_F(AdapterLimits, OnKeysAreExplainedAndNothingStaysPinned)
{
    const std::uint64_t before = held();
    {
        // A region has two keys: the third region gets one of them and must give it back.
        Domain domain = open({.keys = {.keys = 5}});
        std::optional<Region> first = domain.register_memory(page_at(0), all_rights);
        const Region second = domain.register_memory(page_at(1), Access::local_read);
        for (int i = 0; i < 3; ++i)
            expect_refused(domain, page_at(2), all_rights, "the adapter's keys", 5, 6);
        EXPECT_EQ(counters().keys, 4U);
        first.reset();
        EXPECT_NO_THROW(first = domain.register_memory(page_at(2), all_rights));
        EXPECT_EQ(held(), before + 2 * page);
    }
    EXPECT_EQ(counters().keys, 0U);
    EXPECT_TRUE(small_adapter()->bus().empty());
    EXPECT_EQ(held(), before);
}

TEST_F(AdapterLimits, OnTranslationEntriesAreExplainedAndNothingStaysPinned)
{
    const std::uint64_t before = held();
    {
        Domain domain = open({.keys = {.translations = 7}});
        std::vector<Region> regions;
        for (std::size_t i = 0; i < 3; ++i)
            regions.push_back(domain.register_memory(page_at(i), all_rights));
        EXPECT_EQ(counters().translations, 6U);
        // The key for peers fits, the owner's does not.
        expect_refused(domain, page_at(8), all_rights, "translation entries", 7, 8);
        EXPECT_NO_THROW(static_cast<void>(domain.register_memory(page_at(8), Access::local_write)));
    }
    EXPECT_EQ(counters().translations, 0U);
    EXPECT_TRUE(small_adapter()->bus().empty());
    EXPECT_EQ(held(), before);
}

TEST_F(AdapterLimits, OnQueuePairsAreExplained)
{
    const Domain domain = open({.max_qps = 1});
    const auto only = domain.create_queue_pair();
    try {
        static_cast<void>(domain.create_queue_pair());
        ADD_FAILURE() << "it was made";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOMEM) << error.what();
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
        EXPECT_EQ(error.cause().present, 1U);
        EXPECT_EQ(error.cause().need, 2U);
    }
}

} // namespace
} // namespace soft
} // namespace mrz

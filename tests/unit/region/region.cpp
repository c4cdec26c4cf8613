// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/region.hpp>

#include "support/fake_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace mrz::test {
namespace {

using testing::HasSubstr;

class RegionTest : public testing::Test {
  protected:
    void SetUp() override { script() = {}; }
    void TearDown() override { EXPECT_EQ(script().registered, 0); }

    Error refusal(std::span<std::byte> bytes, Access access = Access::local_read, const RegionOptions& options = {})
    {
        try {
            static_cast<void>(domain.register_memory(bytes, access, options));
        } catch (const Error& error) {
            EXPECT_EQ(script().registered, 0);
            EXPECT_NO_THROW(Domain{domain}.close()); // nothing lives in it
            domain = Domain::open("soft");
            return error;
        }
        return Error{1, {.what = "no error", .limit = {}, .remedy = {}}};
    }
    std::vector<std::byte> memory = std::vector<std::byte>(100000);
    Domain domain = Domain::open("soft");
};

TEST_F(RegionTest, IsExactlyTheRangeNamedAtItsVirtualAddress)
{
    std::optional<RegisterRequest> asked;
    script().on_register = [&](const RegisterRequest& request) { asked = request; };
    const std::span<std::byte> part = std::span{memory}.subspan(77, 9999);
    const Access access = Access::local_write | Access::remote_write;
    const Region region = domain.register_memory(part, access);
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(asked->address, part.data());
    EXPECT_EQ(asked->length, part.size());
    EXPECT_EQ(asked->access, access);
    EXPECT_EQ(asked->iova.value(), reinterpret_cast<std::uintptr_t>(part.data()));
    EXPECT_EQ(region.iova(), asked->iova);
    EXPECT_EQ(region.bytes().data(), part.data());
    EXPECT_EQ(region.bytes().size(), part.size());
    EXPECT_EQ(region.access(), access);
    EXPECT_EQ(region.plan().bytes, part.size());
    ASSERT_TRUE(region.built().has_value());
    EXPECT_EQ(region.built()->front().entries, region.plan().mtt_entries());
}

TEST_F(RegionTest, TakesAnIovaThatAgreesInThePage)
{
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const Iova iova{0x5000'0000'0000 + address % 4096};
    EXPECT_EQ(domain.register_memory(memory, Access::local_read, {.iova = iova}).iova(), iova);
    EXPECT_EQ(refusal(memory, Access::local_read, {.iova = iova + 1}).error_number(), EINVAL);
    EXPECT_EQ(
        refusal(memory, Access::local_read, {.iova = Iova{~std::uint64_t{0} - 4095 + address % 4096}}).error_number(),
        EINVAL);
}

TEST_F(RegionTest, ThatTheDeviceBuiltOtherwiseIsAnErrorAndIsTakenBack)
{
    const std::vector<std::function<void(std::vector<BuiltKey>&)>> differences = {
        [](std::vector<BuiltKey>& keys) { keys[0].entries += 1; },
        [](std::vector<BuiltKey>& keys) { keys[0].length += 1; },
        [](std::vector<BuiltKey>& keys) { keys[0].iova = keys[0].iova + 1; },
        [](std::vector<BuiltKey>& keys) { keys[0].page_shift = PageShift{keys[0].page_shift.value() + 1}; },
        [](std::vector<BuiltKey>& keys) { keys.clear(); },
        [](std::vector<BuiltKey>& keys) { keys.push_back(keys[0]); },
    };
    for (const auto& difference : differences) {
        script().on_query = difference;
        const Error error = refusal(memory);
        EXPECT_EQ(error.error_number(), EBADMSG);
        EXPECT_EQ(error.cause().trouble, Trouble::data);
        EXPECT_THAT(error.cause().limit, HasSubstr("planned"));
    }
}

TEST_F(RegionTest, OfADeviceThatCannotTellWhatItBuiltHasNothingToCompare)
{
    script().can_query = false;
    EXPECT_FALSE(domain.register_memory(memory).built().has_value());
}

TEST_F(RegionTest, IsRefusedBeforeTheDeviceIsAskedWhereItMakesNoSense)
{
    script().on_register = [](const RegisterRequest&) { ADD_FAILURE() << "the device was asked"; };
    EXPECT_EQ(refusal({}).error_number(), EINVAL);
    EXPECT_EQ(refusal({memory.data(), ~std::size_t{0}}).error_number(), EINVAL);
    EXPECT_EQ(refusal(memory, Access::remote_write).error_number(), EINVAL);
    void* const hole = mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hole, MAP_FAILED);
    munmap(static_cast<std::byte*>(hole) + 4096, 4096);
    EXPECT_EQ(refusal({static_cast<std::byte*>(hole), 3 * 4096}).error_number(), EFAULT);
    munmap(hole, 3 * 4096);
}

TEST_F(RegionTest, OfMemoryThatNobodyMayReadIsRefusedAsThat)
{
    void* const mapped = mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    ASSERT_EQ(mprotect(static_cast<std::byte*>(mapped) + 4096, 4096, PROT_NONE), 0);
    for (const DmaView view : {DmaView::frames, DmaView::virtual_addresses}) {
        script().view = view;
        const Error error = refusal({static_cast<std::byte*>(mapped), 3 * 4096});
        EXPECT_EQ(error.error_number(), EFAULT) << error.what();
        EXPECT_EQ(error.cause().trouble, Trouble::permission) << error.what();
        EXPECT_THAT(error.cause().limit, HasSubstr(format_hex(reinterpret_cast<std::uintptr_t>(mapped) + 4096)));
    }
    munmap(mapped, 3 * 4096);
}

TEST_F(RegionTest, OfPagesNeverTouchedIsPlannedFromFramesAllTheSame)
{
    script().view = DmaView::frames;
    void* const fresh = mmap(nullptr, 64_KiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(fresh, MAP_FAILED);
    const std::span<std::byte> bytes{static_cast<std::byte*>(fresh), 64_KiB};
    if (const auto probe = read_layout(std::span{memory}.first(1), DmaView::frames)) {
        EXPECT_EQ(domain.register_memory(bytes).plan().bytes, 64_KiB);
    } else {
        EXPECT_EQ(refusal(bytes).error_number(), EPERM); // hidden, and this device needs them
    }
    munmap(fresh, 64_KiB);
}

TEST_F(RegionTest, MovesWithItsKeys)
{
    Region first = domain.register_memory(memory);
    Region second = std::move(first);
    EXPECT_EQ(script().registered, 1);
    second = domain.register_memory(std::span{memory}.first(10));
    EXPECT_EQ(script().registered, 1);
    EXPECT_EQ(second.bytes().size(), 10u);
}

} // namespace
} // namespace mrz::test

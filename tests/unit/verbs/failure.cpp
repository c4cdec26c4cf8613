// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace mrz::verbs {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t address = 0x7f00'0000'0000;

class VerbsFailure : public testing::Test {
  protected:
    //! 1 MiB of memory that is mapped as it should be, on a machine that allows everything.
    VerbsFailure()
    {
        facts.device = "mlx5_0";
        facts.address = address;
        facts.length = 1_MiB;
        facts.pinned_bytes = 1_MiB;
        facts.max_mr_size = std::uint64_t{1} << 40;
        facts.max_mr = 1000;
        facts.locked.soft = host::Limit::unlimited();
        facts.locked.exempt = true;
        facts.mappings = {{{.begin = address, .end = address + 2_MiB, .readable = true, .writable = true}}};
    }
    Cause cause(int error)
    {
        facts.error = error;
        const Error explained = explain(facts);
        EXPECT_EQ(explained.error_number(), error);
        EXPECT_NE(explained.cause().remedy, "");
        EXPECT_THAT(explained.cause().what, HasSubstr("mlx5_0"));
        return explained.cause();
    }
    void limit_locked_memory(std::uint64_t soft, std::uint64_t pinned)
    {
        facts.locked = {.soft = host::Limit::of(soft),
                        .hard = host::Limit::of(soft),
                        .locked = 0,
                        .pinned = pinned,
                        .exempt = false};
    }

    RegistrationFacts facts;
};

TEST_F(VerbsFailure, OfAControlGroupNamesItsFileAndTheValueThatHelps)
{
    facts.objects.ancestry = {
        {.file = "/sys/fs/cgroup/a/b/rdma.max", .max = host::Limit::of(100), .usage = 20},
        {.file = "/sys/fs/cgroup/a/rdma.max", .max = host::Limit::of(50), .usage = 50},
    };
    const Cause told = cause(EAGAIN);
    EXPECT_EQ(told.trouble, Trouble::cgroup);
    EXPECT_THAT(told.limit, HasSubstr("/sys/fs/cgroup/a/rdma.max"));
    EXPECT_EQ(told.present, 50U);
    EXPECT_EQ(told.need, 51U);
    EXPECT_THAT(told.remedy, HasSubstr("echo 'mlx5_0 hca_object=51' > /sys/fs/cgroup/a/rdma.max"));
}

TEST_F(VerbsFailure, OfAControlGroupThatCannotBeSeenSaysSo)
{
    const Cause told = cause(EAGAIN);
    EXPECT_EQ(told.trouble, Trouble::cgroup);
    EXPECT_FALSE(told.present);
    EXPECT_THAT(told.limit, HasSubstr("cannot see"));
}

TEST_F(VerbsFailure, OfTheLockedMemoryLimitSaysHowMuchIsNeeded)
{
    limit_locked_memory(2_MiB, 3_MiB / 2);
    const Cause told = cause(ENOMEM);
    EXPECT_EQ(told.trouble, Trouble::locked_memory);
    EXPECT_EQ(told.present, 2_MiB);
    EXPECT_EQ(told.need, 5_MiB / 2);
    limit_locked_memory(0, 0);
    EXPECT_EQ(cause(EPERM).trouble, Trouble::locked_memory);
}

TEST_F(VerbsFailure, OfAProcessThatIsExemptIsNotTheLockedMemoryLimit)
{
    limit_locked_memory(0, 0);
    facts.locked.exempt = true;
    EXPECT_EQ(cause(ENOMEM).trouble, Trouble::internal);
    EXPECT_EQ(cause(EPERM).trouble, Trouble::permission);
}

TEST_F(VerbsFailure, OfTheDevicesKeysIsToldBeforeTheLockedMemoryLimit)
{
    limit_locked_memory(8_MiB, 0);
    facts.regions_of_it = 1000;
    for (const int error : {ENOMEM, EINVAL, ENOSPC, EBUSY}) {
        const Cause told = cause(error);
        EXPECT_EQ(told.trouble, Trouble::unsupported);
        EXPECT_THAT(told.limit, HasSubstr("max_mr"));
        EXPECT_EQ(told.present, 1000U);
        EXPECT_EQ(told.need, 1001U);
    }
    facts.regions_of_it = 999;
    EXPECT_EQ(cause(ENOMEM).trouble, Trouble::locked_memory);
    EXPECT_EQ(cause(EINVAL).trouble, Trouble::internal);
}

TEST_F(VerbsFailure, OfARegionThatIsTooLongNamesTheLongest)
{
    facts.max_mr_size = 64_KiB;
    const Cause told = cause(EINVAL);
    EXPECT_EQ(told.trouble, Trouble::unsupported);
    EXPECT_THAT(told.limit, HasSubstr("max_mr_size"));
    EXPECT_EQ(told.present, 64_KiB);
    EXPECT_EQ(told.need, 1_MiB);
    facts.max_mr_size = ~std::uint64_t{0};
    facts.pinned_bytes = std::uint64_t{1} << 45;
    EXPECT_THAT(cause(EINVAL).limit, HasSubstr("the kernel's longest region"));
}

TEST_F(VerbsFailure, OfMemoryThatIsNotMappedNamesWhere)
{
    facts.mappings = {{{.begin = address, .end = address + 4096, .readable = true, .writable = true},
                       {.begin = address + 8192, .end = address + 2_MiB, .readable = true, .writable = true}}};
    for (const int error : {EFAULT, ENOMEM, EINVAL}) {
        const Cause told = cause(error);
        EXPECT_EQ(told.trouble, Trouble::invalid);
        EXPECT_THAT(told.limit, HasSubstr(format_hex(address + 4096)));
    }
    facts.mappings->clear();
    EXPECT_THAT(cause(EFAULT).limit, HasSubstr("nothing is mapped at " + format_hex(address)));
}

TEST_F(VerbsFailure, OfReadOnlyMemoryNamesTheMapping)
{
    facts.mappings = {
        {{.begin = address, .end = address + 2_MiB, .readable = true, .writable = false, .name = "/x"}}};
    Cause told = cause(EFAULT);
    EXPECT_EQ(told.trouble, Trouble::permission);
    EXPECT_THAT(told.limit, HasSubstr("the mapping of /x at " + format_hex(address) + " is read-only"));
    EXPECT_THAT(told.limit, HasSubstr("whatever the rights are"));
    facts.writes = true;
    EXPECT_THAT(cause(EFAULT).limit, HasSubstr("what the rights allow"));
    facts.mappings->front().readable = false;
    EXPECT_THAT(cause(EFAULT).limit, HasSubstr("has no access"));
    // It is no reason for want of memory.
    EXPECT_EQ(cause(ENOMEM).trouble, Trouble::internal);
}

TEST_F(VerbsFailure, OfPagingOnDemandIsTheDevicesAndOtherwiseTheMemorys)
{
    facts.on_demand = true;
    EXPECT_THAT(cause(EOPNOTSUPP).remedy, HasSubstr("pinned"));
    facts.on_demand = false;
    EXPECT_THAT(cause(EOPNOTSUPP).remedy, HasSubstr("copy it"));
}

TEST(VerbsObjectFailure, TellsControlGroupsLockedMemoryAndTheDevicesLimitsApart)
{
    const host::LockedMemory free{.soft = host::Limit::unlimited(), .locked = {}, .pinned = {}, .exempt = true};
    const host::LockedMemory none{.soft = host::Limit::of(4096), .locked = 0, .pinned = 4096, .exempt = false};
    const auto trouble = [](int error, const host::LockedMemory& locked) {
        return explain_object(error, "mlx5_0", "creating a queue pair of", {}, locked).cause().trouble;
    };
    EXPECT_EQ(trouble(EAGAIN, free), Trouble::cgroup);
    EXPECT_EQ(trouble(ENOMEM, none), Trouble::locked_memory);
    EXPECT_EQ(trouble(ENOMEM, free), Trouble::internal);
    EXPECT_EQ(trouble(EINVAL, free), Trouble::unsupported);
}

TEST(VerbsOpenFailure, NamesTheDevicesFile)
{
    const Error error = open_failure(EACCES, "mlx5_0", "uverbs7");
    EXPECT_EQ(error.cause().trouble, Trouble::permission);
    EXPECT_THAT(error.cause().limit, HasSubstr("/dev/infiniband/uverbs7"));
    EXPECT_EQ(open_failure(ENOENT, "mlx5_0", "uverbs7").cause().trouble, Trouble::unsupported);
}

} // namespace
} // namespace mrz::verbs

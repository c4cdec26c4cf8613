// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#include <mrzone/host.hpp>

#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using testing::HasSubstr;

class Registration : public Conformance {
  protected:
    //! The error of a registration that must fail, with nothing left pinned.
    Error refusal(std::span<std::byte> memory, Access access = Access::local_read, const RegionOptions& options = {})
    {
        const auto before = host::locked_memory();
        std::optional<Error> refused;
        try {
            const Region region = domain.register_memory(memory, access, options);
        } catch (const Error& error) {
            refused = error;
        }
        const auto after = host::locked_memory();
        EXPECT_EQ(after.pinned, before.pinned);
        EXPECT_EQ(after.locked, before.locked);
        if (!refused) {
            ADD_FAILURE() << "it was registered";
            return Error{1, {}};
        }
        EXPECT_NE(refused->cause().what, "");
        EXPECT_NE(refused->cause().remedy, "");
        return *refused;
    }
    [[nodiscard]] std::byte* at(std::size_t offset) const { return far_memory.bytes().data() + offset; }
};
MRZ_EVERY_DEVICE(Registration);
//! What another adapter may do otherwise.
class SoftRegistration : public Registration {};
MRZ_DEVICES_OF(SoftRegistration, "soft");

TEST_P(Registration, BuildsExactlyThePlan)
{
    for (const std::size_t length : {std::size_t{1}, page, 2 * page + 1, region_length}) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, page - 1}) {
            const Region region = domain.register_memory(far_memory.bytes().subspan(offset, length), all_rights);
            const Plan& plan = region.plan();
            EXPECT_EQ(plan.bytes, length);
            if (region.built()) {
                const std::vector<BuiltKey>& built = *region.built();
                ASSERT_EQ(built.size(), plan.keys.size() + (plan.indirect ? 1 : 0));
                for (std::size_t key = 0; key < plan.keys.size(); ++key) {
                    EXPECT_EQ(built[key].entries, plan.keys[key].entries);
                    EXPECT_EQ(built[key].page_shift, plan.keys[key].page_shift);
                    EXPECT_EQ(built[key].length, plan.keys[key].length);
                    EXPECT_FALSE(built[key].indirect);
                }
                EXPECT_EQ(built.back().length, length);
                EXPECT_EQ(built.back().iova, region.iova());
                if (plan.indirect) {
                    EXPECT_EQ(built.back().indirect, plan.indirect->kind);
                    EXPECT_EQ(built.back().entries, plan.indirect->entries.size());
                }
            }
            EXPECT_EQ(region.pinned_bytes(), (offset % page + length + page - 1) / page * page);
        }
    }
}

TEST_P(Registration, RefusesContradictoryRights)
{
    for (const Access access : {Access::remote_write, Access::remote_atomic | Access::remote_read}) {
        const Error error = refusal(far_memory.bytes(), access);
        EXPECT_EQ(error.error_number(), EINVAL);
        EXPECT_THAT(error.cause().limit, HasSubstr("needs local write"));
    }
}

TEST_P(Registration, RefusesNoBytesAndWrappingRanges)
{
    EXPECT_EQ(refusal({at(0), 0}).error_number(), EINVAL);
    EXPECT_EQ(refusal({at(0), ~std::size_t{0}}).error_number(), EINVAL);
    EXPECT_EQ(
        refusal(far_memory.bytes(), Access::local_read, {.iova = Iova{~std::uint64_t{0} - 4095}}).error_number(),
        EINVAL);
    EXPECT_EQ(refusal(far_memory.bytes(), Access::local_read, {.iova = Iova{0x10'0008}}).error_number(), EINVAL);
}

TEST_P(Registration, RefusesMemoryThatIsNotOrPartlyMappedNamingWhere)
{
    ASSERT_EQ(::munmap(at(2 * page), page), 0);
    const Error partly = refusal(far_memory.bytes());
    EXPECT_EQ(partly.error_number(), EFAULT);
    EXPECT_THAT(partly.what(), HasSubstr(format_hex(reinterpret_cast<std::uintptr_t>(at(2 * page)))));
    EXPECT_EQ(refusal({at(2 * page), page}).error_number(), EFAULT);
    EXPECT_EQ(refusal({at(2 * page) - 1, 2}).error_number(), EFAULT);
    EXPECT_NO_THROW(static_cast<void>(domain.register_memory({at(0), 2 * page})));
}

TEST_P(Registration, RefusesMemoryWithoutAccess)
{
    ASSERT_EQ(::mprotect(at(page), page, PROT_NONE), 0);
    EXPECT_EQ(refusal(far_memory.bytes()).error_number(), EFAULT);
}

// It pins for writing whatever the rights are.
TEST_P(SoftRegistration, RefusesReadOnlyMemoryByName)
{
    ASSERT_EQ(::mprotect(at(page), page, PROT_READ), 0);
    const Error error = refusal(far_memory.bytes());
    EXPECT_EQ(error.error_number(), EFAULT);
    EXPECT_EQ(error.cause().trouble, Trouble::permission);
    EXPECT_THAT(error.cause().limit, HasSubstr("read-only"));
    EXPECT_THAT(error.cause().limit, HasSubstr(format_hex(reinterpret_cast<std::uintptr_t>(at(page)))));
}

TEST_P(SoftRegistration, RefusesFilesOnADiskByName)
{
    if (domain.dma_view() != DmaView::frames)
        GTEST_SKIP() << "only where memory is pinned for writing, whatever the rights";
    // The program itself is on something that is no memory, or there is no telling.
    std::string name = testing::TempDir() + "/mrzone-conformance-XXXXXX";
    const int file = ::mkstemp(name.data());
    ASSERT_GE(file, 0);
    ::unlink(name.c_str());
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(2 * page)), 0);
    void* const mapped = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    try {
        const Region region = domain.register_memory({static_cast<std::byte*>(mapped), 2 * page});
        std::printf("a file in %s can be pinned: it is memory\n", testing::TempDir().c_str());
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported) << error.what();
        EXPECT_THAT(error.cause().limit, HasSubstr("mrzone-conformance-"));
    }
    // Behind the file's end there is nothing, mapped or not.
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(page)), 0);
    EXPECT_EQ(refusal({static_cast<std::byte*>(mapped), 2 * page}).error_number(), EFAULT);
    ::munmap(mapped, 2 * page);
    ::close(file);
}

TEST_P(SoftRegistration, RefusesOptionsThatTheDeviceHasNot)
{
    for (const RegisterOptions& how :
         {RegisterOptions{.paging = Paging::on_demand}, RegisterOptions{.ordering = Ordering::relaxed}}) {
        const Error error = refusal(far_memory.bytes(), Access::local_read, {.how = how});
        EXPECT_EQ(error.error_number(), EOPNOTSUPP);
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
    }
    EXPECT_NO_THROW(static_cast<void>(
        domain.register_memory(far_memory.bytes(), Access::local_read, {.how = {.ordering = Ordering::best}})));
}

TEST_P(Registration, RefusesDevicesThatDoNotExist)
{
    try {
        static_cast<void>(Domain::open("no such device"));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENODEV);
        // Without the driver's name, if that is part of the device's here.
        EXPECT_THAT(error.cause().limit, HasSubstr(GetParam().substr(GetParam().find(':') + 1)));
    }
}

} // namespace
} // namespace mrz::test

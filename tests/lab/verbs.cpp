// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The verbs driver on a device of a stock kernel: what it finds, and why what is refused is refused.
#include "rxe0.hpp"

#include "support/in_child.hpp"
#include "support/lowered.hpp"
#include "support/refusal.hpp"
#include "support/require.hpp"

#include <mrzone/host.hpp>
#include <mrzone/region.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using testing::HasSubstr;

void write(const std::filesystem::path& file, const std::string& text)
{
    std::ofstream stream{file};
    stream << text << std::flush;
    ASSERT_TRUE(stream.good()) << file;
}

class Verbs : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(has_rxe0(), "there is no device rxe0");
        // Any user may use a device that udev made, and there is none here.
        for (const auto& file : std::filesystem::directory_iterator{"/dev/infiniband"})
            std::filesystem::permissions(file, std::filesystem::perms{0666});
    }

    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
};

TEST_F(Verbs, IsTakenByAnyBeforeTheSoftwareAdapterAndSaysWhatItIs)
{
    const Domain domain = Domain::open("any");
    EXPECT_EQ(domain.driver(), "verbs");
    EXPECT_THAT(domain.reason(), HasSubstr("a software device"));
    EXPECT_FALSE(domain.numa_node());
    EXPECT_TRUE(domain.pins_again());
    EXPECT_EQ(domain.dma_view(), DmaView::frames);
    EXPECT_EQ(domain.limits().min_page_shift, PageShift{12});
    EXPECT_EQ(domain.limits().max_page_shift, PageShift{30});
}

TEST_F(Verbs, AdoptsAProtectionDomainAndLeavesItToTheApplication)
{
    int count = 0;
    ibv_device** const devices = ::ibv_get_device_list(&count);
    ASSERT_GT(count, 0);
    ibv_device* device = nullptr;
    for (int i = 0; i < count; ++i)
        if (std::string{::ibv_get_device_name(devices[i])} == "rxe0")
            device = devices[i];
    ASSERT_NE(device, nullptr);
    ibv_context* const context = ::ibv_open_device(device);
    ASSERT_NE(context, nullptr);
    ::ibv_free_device_list(devices);
    ibv_pd* const pd = ::ibv_alloc_pd(context);
    ASSERT_NE(pd, nullptr);
    {
        const Domain domain = Domain::adopt(pd);
        EXPECT_EQ(domain.name(), "rxe0");
        EXPECT_EQ(domain.driver(), "verbs");
        const Region region = domain.register_memory(memory, Access::local_write);
        EXPECT_EQ(::ibv_dealloc_pd(pd), EBUSY) << "the region is not of this protection domain";
        // The application's own queue pair, with the region's key.
        ibv_mr* const its_own = ::ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
        ASSERT_NE(its_own, nullptr);
        EXPECT_NE(its_own->lkey, region.lkey().value);
        EXPECT_EQ(::ibv_dereg_mr(its_own), 0);
        const auto queue_pair = domain.create_queue_pair();
    }
    EXPECT_EQ(::ibv_dealloc_pd(pd), 0) << "something was left in it";
    EXPECT_EQ(::ibv_close_device(context), 0);
    EXPECT_EQ(refusal([] { static_cast<void>(Domain::adopt(nullptr)); }).error_number(), EINVAL);
}

TEST_F(Verbs, RefusesWhatASoftwareDeviceCannot)
{
    const Domain domain = Domain::open("rxe0");
    for (const RegisterOptions& how :
         {RegisterOptions{.paging = Paging::on_demand}, RegisterOptions{.ordering = Ordering::relaxed}}) {
        const Error error =
            refusal([&] { static_cast<void>(domain.register_memory(memory, Access::local_read, {.how = how})); });
        EXPECT_EQ(error.error_number(), EOPNOTSUPP);
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
    }
    EXPECT_NO_THROW(
        static_cast<void>(domain.register_memory(memory, Access::local_read, {.how = {.ordering = Ordering::best}})));
    Region region = domain.register_memory(memory, Access::remote_read);
    EXPECT_EQ(refusal([&] { region.reissue(); }).error_number(), ENOTSUP);
    EXPECT_EQ(refusal([&] { static_cast<void>(domain.create_queue_pair({.segments = 100'000})); }).cause().trouble,
              Trouble::unsupported);
}

TEST_F(Verbs, NamesTheLockedMemoryLimit)
{
    in_child([&] {
        constexpr std::size_t limit = 256 << 10;
        become_somebody(limit);
        const Domain domain = Domain::open("rxe0");
        const std::span<std::byte> all{memory};
        const Region fits = domain.register_memory(all.first(limit / 2));
        const Error error = refusal([&] { static_cast<void>(domain.register_memory(all)); });
        EXPECT_EQ(error.error_number(), ENOMEM);
        EXPECT_EQ(error.cause().trouble, Trouble::locked_memory) << error.what();
        EXPECT_EQ(error.cause().present, limit);
        EXPECT_THAT(error.cause().remedy, HasSubstr("ulimit -l"));
        // Charged a process, where the software adapter's memory is charged a user.
        EXPECT_EQ(host::locked_memory().pinned, fits.pinned_bytes());
    });
    in_child([&] {
        become_somebody(0);
        const Domain domain = Domain::open("rxe0");
        const Error error = refusal([&] { static_cast<void>(domain.register_memory(memory)); });
        EXPECT_EQ(error.error_number(), EPERM);
        EXPECT_EQ(error.cause().trouble, Trouble::locked_memory) << error.what();
    });
}

TEST_F(Verbs, PlansByWholePagesWhereFramesAreHidden)
{
    in_child([&] {
        become_somebody(64 << 20);
        const Domain domain = Domain::open("rxe0");
        EXPECT_EQ(domain.dma_view(), DmaView::unknown);
        const Region region = domain.register_memory(memory);
        EXPECT_EQ(region.plan().keys.front().page_shift, PageShift{12});
        EXPECT_EQ(region.plan().total_entries(), region.pinned_bytes() / 4096);
    });
}

TEST_F(Verbs, NamesTheControlGroupThatAllowsNoMoreObjects)
{
    const std::filesystem::path top = "/sys/fs/cgroup";
    std::ifstream file{top / "cgroup.controllers"};
    const std::string controllers{std::istreambuf_iterator<char>{file}, {}};
    MRZ_REQUIRE(controllers.find("rdma") != std::string::npos, "there is no rdma controller of version 2");
    write(top / "cgroup.subtree_control", "+rdma");
    const std::filesystem::path group = top / "mrz-verbs";
    std::filesystem::create_directory(group);
    in_child([&] {
        write(group / "cgroup.procs", std::to_string(::getpid()));
        // The protection domain, and two regions.
        write(group / "rdma.max", "rxe0 hca_object=3");
        const Domain domain = Domain::open("rxe0");
        const Region first = domain.register_memory(memory);
        const Region second = domain.register_memory(memory);
        const Error error = refusal([&] { static_cast<void>(domain.register_memory(memory)); });
        EXPECT_EQ(error.error_number(), EAGAIN);
        EXPECT_EQ(error.cause().trouble, Trouble::cgroup) << error.what();
        EXPECT_THAT(error.cause().limit, HasSubstr((group / "rdma.max").string()));
        EXPECT_EQ(error.cause().present, 3u);
        EXPECT_EQ(error.cause().need, 4u);
        EXPECT_EQ(refusal([&] { static_cast<void>(domain.create_queue_pair()); }).cause().trouble, Trouble::cgroup);
        write(group / "rdma.max", "rxe0 hca_handle=1");
        const Error handle = refusal([&] { static_cast<void>(Domain::open("rxe0")); });
        EXPECT_EQ(handle.cause().trouble, Trouble::cgroup) << handle.what();
        EXPECT_THAT(handle.cause().limit, HasSubstr("hca_handle"));
        // And what the remedy says helps.
        write(group / "rdma.max", "rxe0 hca_handle=max hca_object=4");
        EXPECT_NO_THROW(static_cast<void>(domain.register_memory(memory)));
    });
    EXPECT_EQ(::rmdir(group.c_str()), 0);
    write(top / "cgroup.subtree_control", "-rdma");
}

TEST_F(Verbs, NamesTheMemoryThatCannotBeRegistered)
{
    const Domain domain = Domain::open("rxe0");
    void* const place = ::mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    const std::span<std::byte> pages{static_cast<std::byte*>(place), 3 * 4096};
    ASSERT_EQ(::mprotect(pages.data() + 4096, 4096, PROT_READ), 0);
    const Error error = refusal([&] { static_cast<void>(domain.register_memory(pages, Access::local_write)); });
    EXPECT_EQ(error.error_number(), EFAULT);
    EXPECT_EQ(error.cause().trouble, Trouble::permission) << error.what();
    EXPECT_THAT(error.cause().limit, HasSubstr(format_hex(reinterpret_cast<std::uintptr_t>(place) + 4096)));
    ::munmap(place, 3 * 4096);
}

TEST_F(Verbs, NamesTheFileThatMayNotBeOpened)
{
    for (const auto& file : std::filesystem::directory_iterator{"/dev/infiniband"})
        if (file.path().filename().string().starts_with("uverbs"))
            std::filesystem::permissions(file, std::filesystem::perms{0600});
    in_child([&] {
        become_somebody(64 << 20);
        const Error error = refusal([] { static_cast<void>(Domain::open("rxe0")); });
        EXPECT_EQ(error.error_number(), EACCES);
        EXPECT_EQ(error.cause().trouble, Trouble::permission);
        EXPECT_THAT(error.cause().limit, HasSubstr("/dev/infiniband/uverbs"));
    });
}

} // namespace
} // namespace mrz::test

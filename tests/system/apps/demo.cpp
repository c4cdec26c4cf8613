// SPDX-License-Identifier: BSD-3-Clause
#include "mrz_program.hpp"

#include "support/cgroup_guard.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"

#include <array>
#include <csignal>
#include <linux/capability.h>
#include <optional>
#include <random>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace mrz::test {
namespace {

//! As in a container that was granted IPC_LOCK. A limit cannot be raised by every root.
void become_nobody_who_may_lock_memory()
{
    prctl(PR_SET_KEEPCAPS, 1);
    become_nobody();
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> data{};
    data[0] = {.effective = 1U << CAP_IPC_LOCK, .permitted = 1U << CAP_IPC_LOCK, .inheritable = 1U << CAP_IPC_LOCK};
    syscall(SYS_capset, &header, data.data());
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_IPC_LOCK, 0, 0);
}

class MrzDemo : public MrzProgram {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "changing page pools needs root");
        none_free_.emplace(2_MiB, 0); // so that the program has to reserve what it needs
        MrzProgram::SetUp();
    }
    void TearDown() override
    {
        EXPECT_FALSE(std::filesystem::exists("/run/dpdk/mrz")) << "the EAL's folder was left behind";
        MrzProgram::TearDown();
        none_free_.reset();
    }

  private:
    std::optional<PoolGuard> none_free_;
};

TEST_F(MrzDemo, ShowsBothWaysAndPutsThePoolBack)
{
    const auto [status, object] = mrz_json({"demo", "--size", "64M", "--seconds", "0"});
    ASSERT_EQ(status, 0) << object;
    EXPECT_EQ(object.at("size"), 64_MiB);
    for (const char* const way : {"arena", "dpdk"}) {
        const Json& found = object.at(way);
        EXPECT_GE(found.at("mtt_entries"), 1);
        EXPECT_GE(found.at("page_shift"), 21);
        EXPECT_GE(found.at("extents"), 1);
        EXPECT_GT(found.at("build_ms"), 0);
        EXPECT_TRUE(found.at("frames_known"));
    }
    EXPECT_LE(object.at("arena").at("mtt_entries"), object.at("dpdk").at("mtt_entries"));
}

TEST_F(MrzDemo, MovesDataUnderKeysThatAreChecked)
{
    const auto [status, object] = mrz_json({"demo", "--size", "64M", "--seconds", "0.3"});
    ASSERT_EQ(status, 0) << object;
    EXPECT_EQ(object.at("driver"), "soft");
    EXPECT_NE(object.at("reason").get<std::string>().find("stands in"), std::string::npos);
    EXPECT_GT(object.at("ops"), 0);
    EXPECT_GT(object.at("bytes"), object.at("ops"));
    EXPECT_GE(object.at("seconds"), 0.3);
    for (const char* const phase : {"pages", "frames", "place", "pin", "tables", "heap"})
        EXPECT_GT(object.at("phases_ns").at(phase), 0) << phase;
    // The adapter built what the kernel's rule promised, and ordinary memory does not fit its cache so well.
    EXPECT_EQ(object.at("arena").at("built_entries"), object.at("arena").at("mtt_entries"));
    EXPECT_EQ(object.at("dpdk").at("built_entries"), object.at("dpdk").at("mtt_entries"));
    EXPECT_EQ(object.at("registered").at("arena").at("regions"), 3); // block, header page, zone
    EXPECT_EQ(object.at("registered").at("resident").at("regions"), 0);
    EXPECT_EQ(object.at("plain").at("size"), 64_MiB);
    EXPECT_GT(object.at("plain").at("cache").at("misses"), 1000);
    EXPECT_LT(object.at("cache").at("misses"), 100);
    EXPECT_GT(object.at("cache").at("hits"), 50'000);
    ASSERT_EQ(object.at("refused").size(), 3U);
    for (const Json& refused : object.at("refused"))
        EXPECT_EQ(refused.at("status"), "remote access error") << refused;
}

TEST_F(MrzDemo, RefusesADeviceThatIsNotThere)
{
    const auto result = mrz_json({"demo", "--size", "64M", "--device", "mlx5_9"});
    expect_error(result, 7);
    EXPECT_NE(result.second.at("error").at("limit").get<std::string>().find("there are: soft"), std::string::npos);
    expect_error(mrz_json({"demo", "--seconds", "-1"}), 2);
    expect_error(mrz_json({"demo", "--seconds", "nan"}), 2);
}

TEST_F(MrzDemo, NamesTheLockedMemoryLimitOfAnOrdinaryUser)
{
    const PoolGuard pool{2_MiB, 100};
    const auto result = mrz_json({"demo", "--size", "64M"}, {}, [] {
        const rlimit limit{.rlim_cur = 1_MiB, .rlim_max = 1_MiB};
        setrlimit(RLIMIT_MEMLOCK, &limit);
        become_nobody();
    });
    expect_error(result, 4);
    EXPECT_EQ(result.second.at("error").at("value"), 1_MiB);
    EXPECT_NE(result.second.at("error").at("remedy").get<std::string>().find("ulimit -l"), std::string::npos);
}

TEST_F(MrzDemo, TellsAPersonBothRulesAndTheRatio)
{
    const ProgramResult result = mrz({"demo", "--size", "64M", "--seconds", "0"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("refused     stale key: remote access error"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find(" hits, "), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("ibv_reg_mr"), std::string::npos);
    EXPECT_NE(result.out.find("umem"), std::string::npos);
    EXPECT_NE(result.out.find("64 MiB: "), std::string::npos) << result.out;
    EXPECT_NE(result.err.find("to the pool for now"), std::string::npos);
}

TEST_F(MrzDemo, RefusesSizesThatCannotBe)
{
    expect_error(mrz_json({"demo", "--size", "0"}), 2);
    expect_error(mrz_json({"demo", "--size", "3M"}), 2);
    expect_error(mrz_json({"demo", "--size", "lots"}), 2);
    expect_error(mrz_json({"demo", "--size", "64T"}), 3);
    expect_error(mrz_json({"demo", "--page", "4M"}), 3);
}

TEST_F(MrzDemo, TellsAnOrdinaryUserWithoutPagesWhoCanReserveThem)
{
    const auto result = mrz_json({"demo"}, {}, become_nobody);
    expect_error(result, 5);
    EXPECT_NE(result.second.at("error").at("remedy").get<std::string>().find("mrz pools set"), std::string::npos);
}

TEST_F(MrzDemo, SaysWhatItCanToAnOrdinaryUserWithPages)
{
    const PoolGuard pool{2_MiB, 100};
    const auto [status, object] =
        mrz_json({"demo", "--size", "64M", "--seconds", "0"}, {}, become_nobody_who_may_lock_memory);
    ASSERT_EQ(status, 0) << object;
    EXPECT_FALSE(object.at("arena").at("frames_known"));
    EXPECT_EQ(object.at("arena").at("mtt_entries"), 32);
}

TEST_F(MrzDemo, NamesTheControlGroupThatRefuses)
{
    const auto hierarchy = CgroupGuard::hierarchy();
    MRZ_REQUIRE(hierarchy.has_value(), "needs control groups of version 2 with the hugetlb controller");
    for (const char* const file : {"hugetlb.2MB.max", "hugetlb.2MB.rsvd.max"}) {
        const CgroupGuard group{*hierarchy};
        group.set(file, 16_MiB);
        const auto result = mrz_json({"demo", "--size", "64M"}, {}, [&group] { group.enter(); });
        expect_error(result, 6);
        EXPECT_EQ(result.second.at("error").at("value"), 16_MiB);
        EXPECT_NE(result.second.at("error").at("limit").get<std::string>().find(file), std::string::npos);
    }
}

TEST_F(MrzDemo, RunsBesideAnother)
{
    for (int i = 0; i < 3; ++i) {
        RunningProgram one{command({"demo", "--size", "256M", "--seconds", "0.2", "--json"})};
        RunningProgram other{command({"demo", "--size", "256M", "--seconds", "0.2", "--json"})};
        const ProgramResult first = one.wait();
        const ProgramResult second = other.wait();
        EXPECT_EQ(first.status, 0) << first.err;
        EXPECT_EQ(second.status, 0) << second.err;
    }
}

TEST_F(MrzDemo, SaysWhichLimitOfTheProcessRefuses)
{
    const auto limited = [](auto resource, rlim_t value) {
        return [resource, value] {
            const rlimit limit{.rlim_cur = value, .rlim_max = value};
            setrlimit(resource, &limit);
        };
    };
    const std::pair<std::function<void()>, const char*> table[] = {
        {limited(RLIMIT_FSIZE, 1 << 20), "RLIMIT_FSIZE"},
        {limited(RLIMIT_NOFILE, 40), "RLIMIT_NOFILE"},
        {limited(RLIMIT_AS, 1_GiB), "RLIMIT_AS"},
    };
    for (const auto& [before_it, named] : table) {
        const auto result = mrz_json({"demo", "--size", "64M"}, {}, before_it);
        expect_error(result, 2);
        const Json error = result.second.value("error", Json::object());
        EXPECT_NE(error.value("limit", "").find(named), std::string::npos) << error;
        EXPECT_NE(error.value("remedy", "").find("ulimit"), std::string::npos) << error;
        EXPECT_EQ(pages(), before);
    }
}

TEST_F(MrzDemo, UndoesEverythingWhenInterrupted)
{
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        RunningProgram program{command({"demo", "--size", "256M", "--json"}), {}, [signal] {
                                   std::signal(signal, SIG_DFL); // whatever the tests themselves inherited
                               }};
        ASSERT_TRUE(program.wait_for_error("to the pool for now"));
        kill(program.pid(), signal);
        const ProgramResult result = program.wait();
        EXPECT_EQ(result.status, 128 + signal);
        EXPECT_EQ(Json::parse(result.out).at("error").at("errno"), EINTR);
        EXPECT_EQ(pages(), before);
        EXPECT_FALSE(std::filesystem::exists(run_dir));
    }
}

TEST_F(MrzDemo, IsUndoneByTheNextRunWhenKilledAtAnyMoment)
{
    std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<useconds_t> moment{0, 400'000};
    int left_something = 0;
    for (int i = 0; i < 25; ++i) {
        RunningProgram program{command({"demo", "--size", "64M"})};
        usleep(moment(random)); // a random moment, not a wait for something
        kill(program.pid(), SIGKILL);
        program.wait();
        left_something += pages() != before ? 1 : 0;
        const ProgramResult next = mrz({"pools"});
        EXPECT_EQ(next.status, 0) << next.err;
        ASSERT_EQ(pages(), before) << next.err;
        ASSERT_FALSE(std::filesystem::exists(run_dir));
    }
    EXPECT_GT(left_something, 0) << "no kill hit the time in which there is something to undo";
    EXPECT_EQ(mrz({"demo", "--size", "64M", "--seconds", "0"}).status, 0);
}

TEST_F(MrzDemo, IsUndoneByRestoreToo)
{
    RunningProgram program{command({"demo", "--size", "256M"})};
    ASSERT_TRUE(program.wait_for_error("to the pool for now"));
    kill(program.pid(), SIGKILL);
    program.wait();
    EXPECT_GT(pages(), before);
    const auto [status, object] = mrz_json({"pools", "restore"});
    EXPECT_EQ(status, 0);
    EXPECT_EQ(object.at("undone").size(), 1U);
    EXPECT_EQ(mrz({"demo", "--size", "64M", "--seconds", "0"}).status, 0); // tidies the EAL's folder
}

} // namespace
} // namespace mrz::test

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What telemetry's clients are told by a process with a real EAL.
#include <mrzone/cache.hpp>
#include <mrzone/telemetry.hpp>
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/hugetlbfs_mount.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"
#include "support/telemetry_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <unistd.h>

using namespace mrz;
using namespace mrz::test;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

namespace {

class Telemetry : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, 128);
    }
    // A child of a test ends without exit handlers, by which DPDK would remove its socket.
    void TearDown() override { std::filesystem::remove_all("/var/run/dpdk/" + prefix_); }

    //! Runs \p body in a child with an EAL that has telemetry.
    void with_telemetry(const std::function<void()>& body) const
    {
        in_child([&] {
            const Eal eal{{"--in-memory", "--telemetry", "--file-prefix=" + prefix_}};
            body();
        });
    }
    [[nodiscard]] std::string path() const { return telemetry_socket_of(prefix_); }

    const std::string prefix_ = "mrz-telemetry-" + std::to_string(getpid());

  private:
    std::optional<PoolGuard> pool_;
};

//! Two processes that wait for each other. Waiting is bounded, so that a failure elsewhere ends it.
class Steps {
  public:
    Steps()
    {
        for (auto& ends : ends_)
            EXPECT_EQ(pipe(ends.data()), 0);
    }
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    ~Steps()
    {
        for (const auto& ends : ends_)
            for (const int end : ends)
                close(end);
    }
    void first_done() const { done(0); }
    void wait_for_first() const { wait(0); }
    void second_done() const { done(1); }
    void wait_for_second() const { wait(1); }

  private:
    void done(std::size_t which) const { EXPECT_EQ(write(ends_[which][1], "x", 1), 1); }
    void wait(std::size_t which) const
    {
        pollfd ready{.fd = ends_[which][0], .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, 60'000) != 1)
            throw std::runtime_error{"the other process did not come this far"};
    }
    std::array<std::array<int, 2>, 2> ends_{};
};

Error refusal()
{
    try {
        offer_telemetry();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "telemetry was offered";
    return Error{1, {.what = {}, .limit = {}, .remedy = {}}};
}

TEST_F(Telemetry, IsOfferedOnceAndIsWhereTheFilePrefixSays)
{
    with_telemetry([&] {
        EXPECT_EQ(offer_telemetry(), path());
        EXPECT_EQ(offer_telemetry(), path());
        TelemetryClient client{path()};
        const json commands = client.ask("/");
        EXPECT_EQ(std::count(commands.begin(), commands.end(), "/mrzone/domain"), 1);
        for (const char* const command : {"/mrzone/pools", "/mrzone/domains", "/mrzone/caches", "/mrzone/cache",
                                          "/mrzone/arenas", "/mrzone/arena"}) {
            EXPECT_THAT(commands, Contains(command));
            EXPECT_THAT(client.ask(std::string{"/help,"} + command)[command], HasSubstr("Returns"));
        }
    });
}

TEST_F(Telemetry, SaysWhatSnapshotsSay)
{
    with_telemetry([&] {
        offer_telemetry();
        TelemetryClient client{path()};
        EXPECT_EQ(client.ask("/mrzone/arenas"), json::parse(R"({"total": 0})"));
        const Domain domain = Domain::open("soft");
        Arena arena = Arena::build("data", {.size = 16_MiB, .domains = {domain}});
        const Zone zone = arena.reserve("table", 1_MiB, Access::remote_read);
        Cache cache{domain};
        std::vector<std::byte> memory(100'000);
        const Lease lease = cache.lease(memory);
        static_cast<void>(cache.lease(memory));

        const std::string number = std::to_string(domain.number());
        EXPECT_EQ(client.ask("/mrzone/domains")[number], "soft");
        const json of_domain = client.ask("/mrzone/domain," + number);
        EXPECT_EQ(of_domain, client.ask("/mrzone/domain,soft"));
        const DomainSnapshot now = domain.snapshot();
        EXPECT_EQ(of_domain["device"], "soft");
        EXPECT_EQ(of_domain["arena/regions"], 3); // block, header page, zone
        EXPECT_EQ(of_domain["arena/mtt_entries"], now.arena.mtt_entries);
        EXPECT_EQ(of_domain["arena/bytes"], 16_MiB + Window::header_size + 1_MiB);
        EXPECT_EQ(of_domain["temporary/regions"], 1);
        EXPECT_EQ(of_domain["temporary/pinned_bytes"], now.temporary.pinned_bytes);
        EXPECT_EQ(of_domain["look_up/in_slots"], now.look_up.in_slots);
        EXPECT_TRUE(of_domain.contains("device_caches/mtt_hits"));

        const json of_arena = client.ask("/mrzone/arena,data");
        EXPECT_EQ(of_arena["socket_id"], arena.socket_id());
        EXPECT_EQ(of_arena["bytes"], 16_MiB);
        EXPECT_EQ(of_arena["page_size"], 2_MiB);
        EXPECT_EQ(of_arena["windows"], 1);
        EXPECT_EQ(of_arena["zones"], 1);
        EXPECT_EQ(of_arena["domain_" + number + "/regions"], 2);
        const auto& in_domain = arena.snapshot().domains.at(0).regions;
        EXPECT_EQ(of_arena["domain_" + number + "/mtt_entries"], in_domain.mtt_entries);
        EXPECT_EQ(in_domain.pinned_bytes, 16_MiB + Window::header_size);

        const json of_cache = client.ask("/mrzone/cache,soft");
        EXPECT_EQ(of_cache["hits"], 1);
        EXPECT_EQ(of_cache["misses"], 1);
        EXPECT_EQ(of_cache["leases"], 1);

        const Pool pool = read_pool(2_MiB);
        EXPECT_EQ(client.ask("/mrzone/pools")["2MiB/machine/total"], pool.total);

        arena.grow(4_MiB);
        EXPECT_EQ(client.ask("/mrzone/arena,data")["windows"], 2);
        EXPECT_EQ(client.ask("/mrzone/arena,data")["domain_" + number + "/regions"], 4);
    });
}

TEST_F(Telemetry, OfAClosedArenaSaysThatItIsAndOfOneThatIsGoneNothing)
{
    with_telemetry([&] {
        offer_telemetry();
        TelemetryClient client{path()};
        {
            Arena arena = Arena::build("data", {.size = 4_MiB});
            arena.close();
            EXPECT_EQ(client.ask("/mrzone/arena,data")["closed"], 1);
        }
        EXPECT_EQ(client.ask("/mrzone/arena,data")["error/errno"], ENOENT);
    });
}

TEST_F(Telemetry, AnswersWhatMakesNoSenseByAnError)
{
    with_telemetry([&] {
        offer_telemetry();
        TelemetryClient client{path()};
        for (const char* const wrong : {"/mrzone/domain", "/mrzone/domain,", "/mrzone/domain,soft", "/mrzone/arena,7",
                                        "/mrzone/cache,x,y", "/mrzone/caches,-1", "/mrzone/pools,2M"}) {
            const json answer = client.ask(wrong);
            EXPECT_GT(answer.value("error/errno", 0), 0) << wrong << ": " << answer;
            EXPECT_FALSE(answer.value("error/what", "").empty()) << wrong;
            EXPECT_THAT(answer.value("error/remedy", ""), HasSubstr("/mrzone/")) << wrong;
        }
        // Nor does it harm what asks in the longest way that DPDK takes, or not in ASCII.
        EXPECT_EQ(client.ask("/mrzone/domain," + std::string(1000, 'x'))["error/errno"], ENOENT);
        EXPECT_EQ(client.ask("/mrzone/domain,\xc3\xa9\"\\\n")["error/errno"], ENOENT);
        EXPECT_EQ(client.ask("/mrzone/domains")["total"], 0);
    });
}

TEST_F(Telemetry, ListsThatAreTooLongAreHadPieceByPiece)
{
    constexpr std::uint64_t count = 600;
    with_telemetry([&] {
        offer_telemetry();
        TelemetryClient client{path()};
        std::vector<Domain> domains;
        for (std::uint64_t i = 0; i < count; ++i)
            domains.push_back(Domain::open("soft"));
        std::uint64_t heard = 0;
        for (std::uint64_t from = 0, left = 1; left > 0;) {
            const json piece = client.ask("/mrzone/domains," + std::to_string(from));
            EXPECT_EQ(piece["total"], count);
            left = piece.value("left_out", std::uint64_t{0});
            const std::uint64_t here = piece.size() - (left > 0 ? 2 : 1);
            ASSERT_GT(here, 0U) << piece;
            EXPECT_EQ(here + left, count - heard);
            for (std::uint64_t i = from; i < from + here; ++i)
                EXPECT_EQ(piece.value(std::to_string(i), ""), "soft") << i;
            heard += here;
            from += here;
        }
        EXPECT_EQ(heard, count);
    });
}

TEST_F(Telemetry, AnswersWhileWhatItShowsComesAndGoes)
{
    with_telemetry([&] {
        offer_telemetry();
        const Domain domain = Domain::open("soft");
        std::atomic<bool> done = false;
        std::thread asking{[&] {
            TelemetryClient client{path()};
            while (!done)
                for (const std::string kind : {"arena", "cache", "domain"}) {
                    const json list = client.ask("/mrzone/" + kind + "s");
                    for (const auto& [number, name] : list.items())
                        if (number != "total") {
                            const json one = client.ask("/mrzone/" + kind + "," + number);
                            EXPECT_TRUE(one.value("number", ~0) == std::stoi(number) || one["error/errno"] == ENOENT)
                                << one;
                        }
                }
        }};
        std::vector<std::byte> memory(8192);
        for (int i = 0; i < 20; ++i) {
            const Domain passing = Domain::open("soft");
            Arena arena = Arena::build("data", {.size = 4_MiB, .domains = {domain, passing}});
            const Zone zone = arena.reserve("table", 64_KiB, Access::remote_read);
            Cache cache{passing};
            const Lease lease = cache.lease(memory);
        }
        done = true;
        asking.join();
        EXPECT_EQ(domain.snapshot().arena.regions, 0U);
    });
}

TEST_F(Telemetry, IsHeardByDpdksOwnClient)
{
    MRZ_REQUIRE(std::filesystem::exists(telemetry_script), "dpdk-telemetry.py is missing (Debian: dpdk-dev)");
    with_telemetry([&] {
        offer_telemetry();
        const Domain domain = Domain::open("soft");
        const json list = ask_by_script(prefix_, "/mrzone/domains");
        EXPECT_EQ(list[std::to_string(domain.number())], "soft");
        EXPECT_EQ(ask_by_script(prefix_, "/mrzone/domain,soft")["driver"], "soft");
        EXPECT_EQ(ask_by_script(prefix_, "/mrzone/domain,none")["error/errno"], ENOENT);
    });
}

TEST_F(Telemetry, OfTwoProcessesWithOnePrefixEachHasAPathOfItsOwn)
{
    const Steps steps;
    const std::vector<std::string> eal{"--in-memory", "--telemetry", "--file-prefix=" + prefix_};
    const pid_t first = start_child([&] {
        const Eal running{eal};
        EXPECT_EQ(offer_telemetry(), path());
        steps.first_done();
        steps.wait_for_second();
    });
    const pid_t second = start_child([&] {
        steps.wait_for_first();
        const Eal running{eal};
        const std::string own = offer_telemetry();
        EXPECT_EQ(own, path() + ":1");
        EXPECT_EQ(TelemetryClient{own}.ask("/info")["pid"], getpid());
        steps.second_done();
    });
    expect_success(second);
    expect_success(first);
}

TEST_F(Telemetry, IsRefusedWhereTheEalHasNone)
{
    in_child([&] {
        const Eal eal{{"--in-memory", "--file-prefix=" + prefix_}};
        const Error error = refusal();
        EXPECT_EQ(error.error_number(), ENOTSUP);
        EXPECT_THAT(error.what(), HasSubstr("--no-telemetry"));
    });
}

TEST_F(Telemetry, IsRefusedInASecondaryProcess)
{
    const HugetlbfsMount mount;
    const auto eal = [&](const char* type) {
        return std::vector<std::string>{"--file-prefix=" + prefix_, "--huge-dir=" + mount.path(), "--telemetry",
                                        std::string{"--proc-type="} + type};
    };
    const Steps steps;
    const pid_t primary = start_child([&] {
        const Eal running{eal("primary")};
        EXPECT_EQ(offer_telemetry(), path());
        steps.first_done();
        steps.wait_for_second();
    });
    const pid_t secondary = start_child([&] {
        steps.wait_for_first();
        {
            const Eal running{eal("secondary")};
            const Error error = refusal();
            EXPECT_EQ(error.error_number(), ENOTSUP);
            EXPECT_THAT(error.what(), HasSubstr("secondary"));
        }
        steps.second_done();
    });
    expect_success(secondary);
    expect_success(primary);
}

} // namespace

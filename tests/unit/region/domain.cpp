// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/region.hpp>

#include "support/fake_driver.hpp"
#include "support/in_child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include <unistd.h>

namespace mrz::test {
namespace {

using testing::HasSubstr;

class DomainTest : public testing::Test {
  protected:
    void SetUp() override { script() = {}; }
    void TearDown() override
    {
        EXPECT_EQ(script().registered, 0);
        EXPECT_EQ(script().domains, 0);
    }
    std::vector<std::byte> memory = std::vector<std::byte>(10000);
};

TEST_F(DomainTest, AnyIsTheFirstDeviceOfTheFirstDriverThatHasOne)
{
    script().hardware = {"hw0", "hw1"};
    const Domain domain = Domain::open();
    EXPECT_EQ(domain.name(), "hw0");
    EXPECT_EQ(domain.driver(), "hardware");
    EXPECT_THAT(domain.reason(), HasSubstr("first device of driver hardware"));
}

TEST_F(DomainTest, AnyFallsBackToTheSoftwareAdapterAndSaysSo)
{
    std::vector<std::string> said;
    set_log_sink([&](Severity, std::string_view line) { said.emplace_back(line); });
    const Domain domain = Domain::open("any");
    EXPECT_EQ(domain.name(), "soft");
    EXPECT_THAT(domain.reason(), HasSubstr("the software adapter stands in"));
    script().hardware = {"hw0"};
    script().hardware_opens = false;
    EXPECT_THAT(Domain::open("any").reason(), testing::AllOf(HasSubstr("hw0"), HasSubstr("no permission")));
    set_log_sink({});
    ASSERT_EQ(said.size(), 2u);
    EXPECT_THAT(said[0], HasSubstr("the software adapter stands in"));
}

TEST_F(DomainTest, ADriverMayBeNamedWithItsDevice)
{
    script().hardware = {"hw0", "soft"}; // a name that two drivers know
    EXPECT_EQ(Domain::open("soft").driver(), "hardware");
    EXPECT_EQ(Domain::open("hardware:soft").driver(), "hardware");
    EXPECT_EQ(Domain::open("soft:soft").driver(), "soft");
    EXPECT_EQ(Domain::open("hardware:hw0").name(), "hw0");
    for (const char* const name : {"soft:hw0", "hardware:", ":hw0:", "nobody:hw0", "hardware:hw0:hw0"}) {
        try {
            static_cast<void>(Domain::open(name));
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), ENODEV) << name;
            EXPECT_THAT(error.cause().what, HasSubstr(name));
        }
    }
    try {
        static_cast<void>(Domain::open("soft:hw0"));
    } catch (const Error& error) {
        EXPECT_THAT(error.cause().limit, HasSubstr("there are: soft"));
        EXPECT_THAT(error.cause().remedy, HasSubstr("hardware, soft"));
    }
}

TEST_F(DomainTest, ANameNeverBecomesAnotherDevice)
{
    script().hardware = {"hw0"};
    EXPECT_EQ(Domain::open("soft").driver(), "soft");
    try {
        static_cast<void>(Domain::open("hw9"));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENODEV);
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
        EXPECT_THAT(error.cause().limit, HasSubstr("hw0, soft"));
    }
    script().hardware_opens = false;
    try {
        static_cast<void>(Domain::open("hw0"));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EACCES);
    }
}

TEST_F(DomainTest, CloseRefusesNamingWhatLivesAndLeavesItAlone)
{
    Domain domain = Domain::open("soft");
    {
        const Region region = domain.register_memory(memory);
        const auto queue_pair = domain.create_queue_pair();
        try {
            domain.close();
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), EBUSY);
            EXPECT_EQ(error.cause().trouble, Trouble::busy);
            EXPECT_EQ(error.cause().present, 2u);
            EXPECT_THAT(error.cause().limit, HasSubstr(format_hex(reinterpret_cast<std::uintptr_t>(memory.data()))));
            EXPECT_THAT(error.cause().limit, HasSubstr("queue pair"));
        }
        EXPECT_EQ(script().registered, 1);
        EXPECT_NO_THROW(static_cast<void>(domain.register_memory(memory)));
    }
    domain.close();
    EXPECT_EQ(script().domains, 0);
    domain.close();
    EXPECT_EQ(domain.name(), "soft");
    try {
        static_cast<void>(domain.register_memory(memory));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EBADF);
    }
    EXPECT_THROW(static_cast<void>(domain.create_queue_pair()), Error);
}

TEST_F(DomainTest, ClosingNamesAFewOfMany)
{
    Domain domain = Domain::open("soft");
    std::vector<Region> regions;
    for (int i = 0; i < 20; ++i)
        regions.push_back(domain.register_memory(memory));
    try {
        domain.close();
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.cause().limit, HasSubstr("and 12 more"));
    }
}

TEST_F(DomainTest, InAChildOfForkIsOfNoUseButCopiesMayBeDestroyed)
{
    Domain domain = Domain::open("soft");
    std::optional<Region> region = domain.register_memory(memory, Access::remote_read);
    const RKey rkey = region->rkey();
    std::unique_ptr<QueuePair> queue_pair = domain.create_queue_pair();
    in_child([&] {
        alarm(30); // SIGALRM ends what hangs
        const auto refused = [](const std::function<void()>& work) {
            try {
                work();
                ADD_FAILURE() << "it worked";
            } catch (const Error& error) {
                EXPECT_EQ(error.error_number(), ENOTSUP) << error.what();
                EXPECT_THAT(error.cause().limit, HasSubstr("forked"));
            }
        };
        script().on_register = [](const RegisterRequest&) { ADD_FAILURE() << "the parent's device was asked"; };
        refused([&] { static_cast<void>(domain.register_memory(memory)); });
        refused([&] { static_cast<void>(domain.create_queue_pair()); });
        refused([&] { domain.close(); });
        // Of two keys the parent would know but one, and could never take the other back.
        refused([&] { static_cast<void>(region->reissue()); });
        EXPECT_EQ(region->rkey(), rkey);
        EXPECT_EQ(domain.name(), "soft");
        region.reset();
        queue_pair.reset();
    });
    EXPECT_EQ(script().registered, 1);
}

TEST_F(DomainTest, InAChildThatWasForkedWhileAThreadRegistersDestroysWithoutWaiting)
{
    Domain domain = Domain::open("soft");
    std::optional<Region> region = domain.register_memory(memory);
    std::atomic<bool> stop = false;
    std::thread other{[&] {
        while (!stop)
            try {
                domain.close(); // holds the lock for most of the time
            } catch (const Error&) {
            }
    }};
    for (int i = 0; i < 50; ++i)
        in_child([&] {
            alarm(30);
            region.reset();
        });
    stop = true;
    other.join();
}

TEST_F(DomainTest, LivesAsLongAsWhatIsInIt)
{
    std::optional<Region> region;
    std::unique_ptr<QueuePair> queue_pair;
    {
        const Domain domain = Domain::open("soft");
        const Domain copy = domain;
        EXPECT_EQ(copy, domain);
        EXPECT_FALSE(copy == Domain::open("soft"));
        region = copy.register_memory(memory);
        queue_pair = domain.create_queue_pair();
    }
    EXPECT_EQ(region->domain().name(), "soft");
    region.reset();
    EXPECT_EQ(script().domains, 1);
    queue_pair.reset();
    EXPECT_EQ(script().domains, 0);
}

} // namespace
} // namespace mrz::test

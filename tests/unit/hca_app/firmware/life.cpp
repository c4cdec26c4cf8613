// SPDX-License-Identifier: BSD-3-Clause
#include "harness.hpp"

#include "layouts/capabilities.hpp"

#include <set>

using namespace mrz;
using namespace mrz::firmware;
using namespace mrz::firmware::test;

namespace {

namespace l = mrz::layouts;

std::vector<std::byte> pages(std::uint16_t op_mod, const std::vector<std::uint64_t>& addresses)
{
    auto in = input(0x108, op_mod, 0, 16 + 8 * addresses.size(),
                    {{l::manage_pages_in::input_num_entries, addresses.size()}});
    for (std::size_t i = 0; i < addresses.size(); ++i)
        l::set(std::span{in}.subspan(16 + 8 * i), {0, 64}, addresses[i]);
    return in;
}

class TheLife : public TheFirmware {};

TEST_F(TheLife, NothingComesBeforeInitialization)
{
    EXPECT_EQ(run(0x800).status, Status::bad_sys_state);
    EXPECT_EQ(run(0x102).status, Status::bad_sys_state) << "not enabled";
    EXPECT_EQ(run(0x104).status, Status::ok);
    EXPECT_EQ(run(0x800).status, Status::bad_sys_state);
    EXPECT_EQ(run(0x102).status, Status::ok);
    EXPECT_EQ(run(0x800).status, Status::ok);
}

TEST_F(TheLife, GoesBackTheWayItCame)
{
    begin();
    EXPECT_EQ(run(0x104).status, Status::bad_sys_state) << "enabled twice";
    EXPECT_EQ(run(0x102).status, Status::bad_sys_state) << "initialized twice";
    EXPECT_EQ(run(0x105).status, Status::bad_sys_state) << "disabled while it is initialized";
    EXPECT_EQ(run(0x103).status, Status::ok);
    EXPECT_EQ(run(0x103).status, Status::bad_sys_state);
    EXPECT_EQ(run(0x105).status, Status::ok);
    EXPECT_EQ(run(0x105).status, Status::bad_sys_state);
    begin();
}

TEST_F(TheLife, TeardownLeavesNothing)
{
    begin();
    (void)make_pd();
    EXPECT_EQ(run(0x802).status, Status::ok);
    EXPECT_EQ(run(0x103).status, Status::ok);
    EXPECT_EQ(firmware_.context().objects.count(), 0U);
    EXPECT_EQ(engine_.counters().keys, 0U);
}

TEST_F(TheLife, TeardownIsGracefulOnly)
{
    begin();
    EXPECT_EQ(run(0x103, {{l::teardown_hca_in::profile, 1}}).status, Status::bad_param);
}

TEST_F(TheLife, PagesComeBackAsTheyWereGiven)
{
    ASSERT_EQ(run(0x104).status, Status::ok);
    const Answer boot = run(0x107, {}, 16, 16, 1);
    EXPECT_EQ(boot.get(l::query_pages_out::num_pages), Settings{}.boot_pages);
    const std::vector<std::uint64_t> given{0x1000, 0x7000, 0x123456000};
    EXPECT_EQ(run(pages(1, given)).status, Status::ok);
    EXPECT_EQ(firmware_.life().pages(), 3U);

    std::set<std::uint64_t> back;
    for (int i = 0; i < 2; ++i) {
        // Room for two, whatever is asked for.
        const Answer taken = run(0x108, {{l::manage_pages_in::input_num_entries, 10}}, 16, 16 + 16, 2);
        const std::uint64_t count = taken.get(l::manage_pages_out::output_num_entries);
        EXPECT_EQ(count, i == 0 ? 2U : 1U);
        for (std::size_t at = 0; at < count; ++at)
            back.insert(l::get(std::span{taken.out}.subspan(16 + 8 * at), {0, 64}));
    }
    EXPECT_EQ(back, std::set<std::uint64_t>(given.begin(), given.end()));
    EXPECT_EQ(firmware_.life().pages(), 0U);
}

TEST_F(TheLife, PagesThatMakeNoSenseAreRefusedAsAWhole)
{
    ASSERT_EQ(run(0x104).status, Status::ok);
    EXPECT_EQ(run(pages(1, {0x1000, 0x2008})).status, Status::bad_param) << "no page";
    EXPECT_EQ(run(pages(1, {0x1000, 0x1000})).status, Status::bad_param) << "twice";
    EXPECT_EQ(firmware_.life().pages(), 0U);
    EXPECT_EQ(run(0x108, {{l::manage_pages_in::input_num_entries, 0xffffffff}}, 16, 16, 1).status,
              Status::bad_inp_len);
    EXPECT_EQ(run(pages(7, {0x1000})).status, Status::bad_param);
}

TEST_F(TheLife, InterfaceStepIsOneOfThoseSupported)
{
    const Answer query = run(0x10a, {}, 16, l::query_issi_out::bytes);
    EXPECT_EQ(query.get(l::query_issi_out::supported_issi_dw0) & 2, 2U);
    EXPECT_EQ(run(0x10b, {{l::set_issi_in::current_issi, 1}}).status, Status::ok);
    EXPECT_EQ(run(0x10b, {{l::set_issi_in::current_issi, 2}}).status, Status::bad_param);
    EXPECT_EQ(run(0x10a, {}, 16, l::query_issi_out::bytes).get(l::query_issi_out::current_issi), 1U);
}

TEST_F(TheLife, ResetForgetsEverything)
{
    begin();
    EXPECT_EQ(run(pages(1, {0x1000})).status, Status::ok);
    (void)make_pd();
    firmware_.reset();
    EXPECT_EQ(firmware_.life().pages(), 0U);
    EXPECT_EQ(firmware_.context().objects.count(), 0U);
    EXPECT_EQ(run(0x800).status, Status::bad_sys_state);
    begin();
}

// What the driver does with capabilities (main.c): the whole group as it is, some fields changed.
class TheCapabilities : public TheFirmware {
  protected:
    static constexpr std::size_t whole = 16 + 4096;

    std::vector<std::byte> asked(std::uint16_t group, bool now)
    {
        const Answer answer = run(0x100, {}, 16, whole, static_cast<std::uint16_t>(group << 1 | (now ? 1 : 0)));
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return answer.out;
    }
    Status set(std::uint16_t group, const std::vector<std::byte>& capability)
    {
        auto in = input(0x109, static_cast<std::uint16_t>(group << 1), 0, whole, {});
        std::ranges::copy(std::span{capability}.subspan(16), in.begin() + 16);
        return run(in).status;
    }
    static l::Field in_out(l::Field field) { return l::shifted(field, 16); }
};

TEST_F(TheCapabilities, GivenBackAsTheyAreChangeNothing)
{
    ASSERT_EQ(run(0x104).status, Status::ok);
    const auto now = asked(0, true);
    EXPECT_EQ(set(0, now), Status::ok) << log_;
    EXPECT_EQ(asked(0, true), now);
    EXPECT_EQ(asked(0, false), now);
}

TEST_F(TheCapabilities, AreChosenBelowWhatThereIs)
{
    auto wanted = asked(0, true);
    l::set(wanted, in_out(l::cmd_hca_cap::log_max_qp), 10);
    EXPECT_EQ(set(0, wanted), Status::ok) << log_;
    EXPECT_EQ(l::get(asked(0, true), in_out(l::cmd_hca_cap::log_max_qp)), 10U);
    EXPECT_EQ(l::get(asked(0, false), in_out(l::cmd_hca_cap::log_max_qp)), 16U);
    firmware_.reset();
    EXPECT_EQ(l::get(asked(0, true), in_out(l::cmd_hca_cap::log_max_qp)), 16U);
}

TEST_F(TheCapabilities, ThatAreNotThereAreNotSet)
{
    for (const l::Field field : {l::cmd_hca_cap::log_max_pd, l::cmd_hca_cap::uc, l::cmd_hca_cap::log_max_qp}) {
        auto wanted = asked(0, true);
        l::set(wanted, in_out(field), l::get(wanted, in_out(field)) + 1);
        EXPECT_EQ(set(0, wanted), Status::bad_param) << field.offset;
    }
    auto wanted = asked(0, true);
    wanted.at(16 + 3) |= std::byte{0x40};
    EXPECT_EQ(set(0, wanted), Status::bad_param) << "a bit that no field here has";
    wanted = asked(0, true);
    wanted.back() = std::byte{1};
    EXPECT_EQ(set(0, wanted), Status::bad_param) << "a bit behind all that there is";
    EXPECT_EQ(run(0x100, {}, 16, whole, 0x7 << 1).status, Status::bad_param) << "flow tables";
    EXPECT_EQ(run(0x100, {}, 16, whole, 0x4 << 1).status, Status::bad_param) << "RoCE over InfiniBand";
}

TEST_F(TheCapabilities, AtomicResultsComeInTheHostsOrderOnceAsked)
{
    EXPECT_EQ(
        firmware_.capabilities().current(CapabilityGroup::atomic, l::atomic_caps::atomic_req_8B_endianness_mode), 0U);
    std::vector<std::byte> wanted(whole);
    l::set(wanted, in_out(l::atomic_caps::atomic_req_8B_endianness_mode), 1);
    EXPECT_EQ(set(3, wanted), Status::ok) << log_;
    EXPECT_EQ(
        firmware_.capabilities().current(CapabilityGroup::atomic, l::atomic_caps::atomic_req_8B_endianness_mode), 1U);
    EXPECT_EQ(firmware_.capabilities().current(CapabilityGroup::atomic, l::atomic_caps::atomic_size_qp), 8U);
}

} // namespace

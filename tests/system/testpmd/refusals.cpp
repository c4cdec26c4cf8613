// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What is refused says what, which limit, and what would help; and leaves nothing behind.
#include "testpmd.hpp"

#include "support/pool_guard.hpp"

#include <optional>
#include <ostream>
#include <sys/resource.h>

namespace mrz::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Refusal {
    const char* name;
    unsigned lcores;
    Words devices;
    Words options;
    int status;
    Words texts; //!< All of which it says.

    friend std::ostream& operator<<(std::ostream& stream, const Refusal& it) { return stream << it.name; }
};

class TestpmdRefuses : public Testpmd, public testing::WithParamInterface<Refusal> {};

TEST_P(TestpmdRefuses, SayingWhatWouldHelp)
{
    const Refusal& refusal = GetParam();
    Words eal = refusal.devices;
    eal.emplace_back("--in-memory");
    Dialogue program{command(eal, refusal.options, refusal.lcores)};
    program.close_input();
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, refusal.status) << result.out;
    for (const std::string& text : refusal.texts)
        EXPECT_THAT(result.out, HasSubstr(text));
    // Nothing was forwarded, so there is nothing to be told about it.
    EXPECT_THAT(result.out, Not(HasSubstr("Forward statistics")));
}

const Words null_ports{"--vdev=net_null0", "--vdev=net_null1"};

const Refusal refusals[] = {
    {"OneLcore", 1, null_ports, {}, 2, {"lcores", "-l 0-1"}},
    {"MoreLcoresThanThereAre", 2, null_ports, {"--nb-cores=2"}, 2, {"lcores", "-l 0-2"}},
    {"TheMainLcore", 2, null_ports, {"--coremask=0x1"}, 2, {"--coremask", "main lcore"}},
    {"NoPorts", 2, {}, {}, 2, {"no port", "--vdev="}},
    {"UnknownMode", 2, null_ports, {"--forward-mode=fly"}, 2, {"fly", "icmpecho"}},
    {"EmptySegment", 2, null_ports, {"--txpkts=64,0"}, 2, {"64,0", "for example"}},
    {"SegmentsThatAreNone", 2, null_ports, {"--txpkts=long"}, 2, {"long", "for example"}},
    {"SegmentOverTheBuffer", 2, null_ports, {"--txpkts=4000"}, 2, {"4000", "2048", "--mbuf-size"}},
    {"LookupWithoutDomain", 2, null_ports, {"--lookup"}, 2, {"--lookup", "--domain="}},
    {"DomainWithoutArena", 2, null_ports, {"--domain=soft", "--mp-alloc=native"}, 2, {"--domain", "native"}},
    {"DomainThatAPeerCannotSee",
     2,
     {"--single-file-segments", "--vdev=net_memif0,zero-copy=yes"},
     {"--domain=soft"},
     7,
     {"--domain", "net_memif", "cannot see"}},
    {"UnknownDomain", 2, null_ports, {"--domain=fly0"}, 7, {"fly0"}},
    {"UnknownKindOfPool", 2, null_ports, {"--mp-alloc=anon"}, 2, {"anon", "arena-extbuf"}},
    {"UnknownOption", 2, null_ports, {"--fly"}, 2, {"--fly", "--help"}},
    {"OddPageSize", 2, null_ports, {"--arena-page=3M"}, 3, {"3 MiB", "2 MiB"}},
    {"MoreQueuesThanTheDevice", 2, {"--vdev=net_ring0"}, {"--rxq=17", "--txq=17"}, 2, {"--rxq", "16", "17"}},
    {"BurstOverTheMost", 2, null_ports, {"--burst=513"}, 2, {"--burst", "512"}},
    {"UnknownFile", 2, null_ports, {"-i", "--cmdline-file=/nonexistent/commands"}, 2, {"/nonexistent/commands"}},
    {"MoreMemoryThanTheMachine",
     2,
     null_ports,
     {"--total-num-mbufs=268435455", "--mbuf-size=65472"},
     3,
     {"memory of this machine", "ask for less"}},
    {"PacketsThatItsDriverWouldWriteOverTheBuffer",
     2,
     {"--vdev=net_null0,copy=1,size=3000"},
     {},
     2,
     {"size=3000", "2048", "--mbuf-size"}},
    {"UnknownOptionOfTheEal", 2, {"--fly"}, {}, 2, {"EAL", "Invalid argument"}},
    {"SecondaryProcess", 2, {"--proc-type=secondary"}, {}, 2, {"--proc-type=secondary"}},
    {"UnknownDevice", 2, {"--vdev=net_fly0"}, {}, 7, {"EAL"}},
};

INSTANTIATE_TEST_SUITE_P(All, TestpmdRefuses, testing::ValuesIn(refusals),
                         [](const auto& refusal) { return std::string{refusal.param.name}; });

TEST_F(Testpmd, RefusesWhereTheEalWouldRunOutOfOpenFiles)
{
    const auto few = [] {
        const rlimit limit{.rlim_cur = 24, .rlim_max = 24};
        ::setrlimit(RLIMIT_NOFILE, &limit);
    };
    Words eal = null_ports;
    eal.emplace_back("--in-memory");
    Dialogue program{command(eal, {}), Dialogue::Over::pipes, few};
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 2) << result.out;
    EXPECT_THAT(result.out, HasSubstr("RLIMIT_NOFILE"));
}

TEST_F(Testpmd, RefusedPagesSaysWhoMayHaveThem)
{
    std::optional<TakenPages> all;
    if (const std::uint64_t available = read_pool(2_MiB).available(); available > 0)
        all.emplace(2_MiB, available);
    Words eal = null_ports;
    eal.emplace_back("--in-memory");
    Dialogue program{command(eal, {}), Dialogue::Over::pipes, become_nobody};
    const ProgramResult result = program.wait();
    EXPECT_EQ(result.status, 5) << result.out;
    EXPECT_THAT(result.out, HasSubstr("mrz pools set"));
}

} // namespace
} // namespace mrz::test

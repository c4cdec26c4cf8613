// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What mrz-testpmd tells while it forwards, at its prompt and by telemetry.
#include "testpmd.hpp"

#include "support/telemetry_client.hpp"

namespace mrz::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class TestpmdTelemetry : public Testpmd {
  protected:
    static Words with_telemetry(const Words& options)
    {
        Words words = interactive({"--vdev=net_null0", "--vdev=net_null1"}, options);
        std::erase(words, "--no-telemetry");
        return words;
    }
};

TEST_F(TestpmdTelemetry, AnswersWhileItForwards)
{
    constexpr int questions = 300;
    Dialogue program{with_telemetry({"--domain=soft", "--lookup"})};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(program));
    ASSERT_NO_FATAL_FAILURE(start(program, 2));
    TelemetryClient client{telemetry_socket_of(prefix())};
    const nlohmann::json arena = client.ask("/mrzone/arena,testpmd");
    EXPECT_GT(arena.value("bytes", 0), 0) << arena;
    EXPECT_EQ(arena["domain_0/regions"], 2) << arena;
    for (int i = 0; i < questions; ++i) {
        EXPECT_EQ(client.ask("/mrzone/arena,0"), arena);
        const nlohmann::json domain = client.ask("/mrzone/domain,soft");
        EXPECT_EQ(domain["arena/keys"], arena["domain_0/keys"]) << domain;
        EXPECT_EQ(domain["look_up/readers"], 2) << domain; // one a stream
        EXPECT_EQ(domain["look_up/shut"], 0) << domain;
    }
    EXPECT_EQ(client.ask("/mrzone/arena,other")["error/errno"], ENOENT);
    const std::string counted = stop(program);
    EXPECT_GT(forwarded(counted, 0, "RX-packets"), 0U) << counted;
    quit(program);
}

TEST_F(TestpmdTelemetry, ShowsTheSameAtThePrompt)
{
    Dialogue program{with_telemetry({"--domain=soft"})};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(program));
    program.say("show mrzone");
    ASSERT_TRUE(program.hear("2MiB/machine: ")) << program.text();
    const std::string shown = program.last_heard();
    EXPECT_THAT(shown, HasSubstr("arena testpmd: number 0, name testpmd, "));
    EXPECT_THAT(shown, HasSubstr("  domain_0: regions 2, "));
    EXPECT_THAT(shown, HasSubstr("domain soft: number 0, device soft, "));
    EXPECT_THAT(shown, HasSubstr("  arena: regions 2, "));
    quit(program);
}

TEST_F(TestpmdTelemetry, DoesWithoutWhereItIsToldTo)
{
    Dialogue program{interactive({"--vdev=net_null0", "--vdev=net_null1"}, {})};
    ASSERT_NO_FATAL_FAILURE(wait_until_ready(program));
    EXPECT_THROW(TelemetryClient{telemetry_socket_of(prefix())}, std::runtime_error);
    quit(program);
    EXPECT_THAT(program.text(), Not(HasSubstr("telemetry")));
}

} // namespace
} // namespace mrz::test

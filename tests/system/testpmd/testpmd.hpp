// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The real mrz-testpmd, run and talked with as a person would.
#pragma once

#include "../apps/mrz_program.hpp"

#include "support/dialogue.hpp"
#include "support/network.hpp"
#include "support/packet_socket.hpp"

#include <gmock/gmock.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace mrz::test {

using Words = std::vector<std::string>;

class Testpmd : public MrzProgram {
  protected:
    void SetUp() override
    {
        MrzProgram::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        MRZ_REQUIRE(!NetworkNamespace::program().empty(), "ip(8) is missing (Debian: iproute2)");
        folder = "/tmp/" + prefix();
        std::filesystem::create_directory(folder);
    }
    void TearDown() override
    {
        if (!folder.empty())
            std::filesystem::remove_all(folder);
        EXPECT_FALSE(std::filesystem::exists("/var/run/dpdk/" + prefix())) << "the EAL's folder was left behind";
        MrzProgram::TearDown();
    }

    //! Of the EAL's own files.
    static std::string prefix() { return "mrz-testpmd-" + std::to_string(::getpid()); }
    //! With two lcores also where there is one processor. \p lcores is how many.
    static Words command(const Words& eal, const Words& options, unsigned lcores = 2)
    {
        const unsigned processors = std::max(std::thread::hardware_concurrency(), 1U);
        std::string places;
        for (unsigned lcore = 0; lcore < lcores; ++lcore)
            places += (places.empty() ? "" : ",") + std::to_string(lcore) + "@" + std::to_string(lcore % processors);
        Words words{std::getenv("MRZ_TESTPMD"), "--lcores=" + places, "--no-pci", "--no-telemetry",
                    "--file-prefix=" + prefix()};
        words.insert(words.end(), eal.begin(), eal.end());
        words.emplace_back("--");
        words.insert(words.end(), options.begin(), options.end());
        return words;
    }
    //! With a prompt, nothing on disk, and as many buffers as every device here can do with, unless \p options say.
    static Words interactive(Words eal, const Words& options, unsigned lcores = 2)
    {
        eal.emplace_back("--in-memory");
        Words all{"-i"};
        if (std::ranges::none_of(options, [](const auto& word) { return word.starts_with("--total-num-mbufs"); }))
            all.emplace_back("--total-num-mbufs=16384");
        all.insert(all.end(), options.begin(), options.end());
        return command(eal, all, lcores);
    }
    static std::string pools_of(const std::string& kind) { return "--mp-alloc=" + kind; }

    //! Waits until commands are carried out, and so every port is started.
    static void wait_until_ready(Dialogue& program)
    {
        program.say("show port info 0");
        ASSERT_TRUE(program.hear("Link status: ")) << program.text();
    }
    //! Says "start", and returns when that is done. Its ports are \p ports.
    static void start(Dialogue& program, unsigned ports, const std::string& how = "start")
    {
        program.say(how);
        // Commands are carried out one after another.
        program.say("show port stats all");
        ASSERT_TRUE(program.hear("NIC statistics for port " + std::to_string(ports - 1))) << program.text();
        ASSERT_TRUE(program.hear("Tx-bps:")) << program.text();
    }
    //! Says "stop". \return what the program counted.
    static std::string stop(Dialogue& program)
    {
        program.say("stop");
        EXPECT_TRUE(program.hear("Accumulated forward statistics")) << program.text();
        const std::string ports = program.last_heard();
        EXPECT_TRUE(program.hear("Done.")) << program.text();
        return ports + program.last_heard();
    }
    //! Between two questions about the same thing: what is asked leaves the processor to what is waited for.
    static void pause() { ::poll(nullptr, 0, 5); }

    //! Asks again and again until \p enough packets were counted at a port's device, received ("RX-packets") or sent.
    static void wait_for_packets(Dialogue& program, unsigned port, const std::string& label, std::uint64_t enough)
    {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        for (std::uint64_t counted = 0; counted < enough; pause()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << program.text();
            program.say("show port stats " + std::to_string(port));
            ASSERT_TRUE(program.hear("Tx-bps:")) << program.text();
            counted = number_of(program.last_heard(), "NIC statistics", label);
        }
    }
    //! Asks again and again until there is somebody at the other end of a port.
    static void wait_for_link(Dialogue& program, unsigned port)
    {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        for (bool up = false; !up; pause()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << program.text();
            program.say("show port info " + std::to_string(port));
            ASSERT_TRUE(program.hear("Link status: ")) << program.text();
            ASSERT_TRUE(program.hear("\n")) << program.text();
            up = program.last_heard().starts_with("up");
        }
    }
    static void quit(Dialogue& program)
    {
        program.say("quit");
        const ProgramResult result = program.wait();
        EXPECT_EQ(result.status, 0) << result.out;
    }

    //! The number behind \p label, in what follows \p title.
    static std::uint64_t number_of(std::string_view text, std::string_view title, std::string_view label)
    {
        std::uint64_t number = ~std::uint64_t{0};
        std::size_t at = text.find(title);
        at = at == std::string_view::npos ? at : text.find(label, at);
        at = at == std::string_view::npos ? at : text.find_first_not_of(" :", at + label.size());
        EXPECT_NE(at, std::string_view::npos) << title << ", " << label << " in:\n" << text;
        if (at != std::string_view::npos)
            std::from_chars(text.data() + at, text.data() + text.size(), number);
        return number;
    }
    static std::uint64_t forwarded(std::string_view text, unsigned port, std::string_view label)
    {
        return number_of(text, "Forward statistics for port " + std::to_string(port), label);
    }

    std::filesystem::path folder; //!< Its own, for files of the test.
};

//! Over kinds of pools.
class TestpmdPools : public Testpmd, public testing::WithParamInterface<const char*> {
  protected:
    static std::string pools() { return pools_of(GetParam()); }
};
//! For INSTANTIATE_TEST_SUITE_P.
inline std::string kind_name(const testing::TestParamInfo<const char*>& kind)
{
    std::string name = kind.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

//! Two hosts, and a third between them that has a cable to each: l0–m0 and m1–r0.
struct TwoHosts {
    explicit TwoHosts(unsigned mtu = 1500)
    {
        connect(left, "l0", middle, "m0", mtu);
        connect(middle, "m1", right, "r0", mtu);
    }

    NetworkNamespace left;
    NetworkNamespace middle;
    NetworkNamespace right;
};

//! Sends frames at one end, of which each must come out at the other, in order.
inline void expect_to_arrive(const PacketSocket& from, const PacketSocket& to, const std::vector<Frame>& frames)
{
    // No more on their way than the shortest queue holds.
    constexpr std::size_t window = 64;
    std::size_t sent = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i == sent)
            for (; sent < std::min(i + window, frames.size()); ++sent)
                from.send(frames[sent]);
        const std::optional<Frame> got = to.receive();
        ASSERT_TRUE(got) << "frame " << i << " of " << frames[i].size() << " bytes was lost";
        ASSERT_TRUE(*got == frames[i]) << "frame " << i << " of " << frames[i].size() << " bytes came as "
                                       << testing::PrintToString(*got);
    }
}

//! One frame of each size.
inline std::vector<Frame> frames_of_sizes(std::size_t first, std::size_t last, std::size_t step, std::uint32_t seed)
{
    std::vector<Frame> frames;
    for (std::size_t size = first; size <= last; size += step)
        frames.push_back(random_frame(size, seed++));
    return frames;
}

} // namespace mrz::test

// SPDX-License-Identifier: BSD-3-Clause
#include "mrz_program.hpp"

#include "support/in_child.hpp"
#include "support/pool_guard.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <sys/prctl.h>

namespace mrz::test {
namespace {

//! A process that holds hugepages until it is destroyed.
class Holder {
  public:
    //! Maps \p pages pages, touches the first \p touched of them, and if \p swapped maps them from a file, the first
    //! half after the second, so that memory breaks where the halves meet, if it does not elsewhere.
    explicit Holder(
        std::size_t pages, std::size_t touched, bool swapped, const std::function<void()>& then = [] {})
    {
        int ready[2];
        if (pipe(ready) != 0)
            throw std::runtime_error{"pipe"};
        std::fflush(nullptr);
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const bool good = swapped ? hold_swapped(pages) : hold(pages, touched);
            then();
            prctl(PR_SET_DUMPABLE, 1); // whoever it is by now: its memory is its user's to see
            if (good && write(ready[1], "x", 1) == 1)
                for (;;)
                    pause();
            _exit(1);
        }
        close(ready[1]);
        char byte = 0;
        ready_ = read(ready[0], &byte, 1) == 1;
        close(ready[0]);
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder()
    {
        kill(pid_, SIGKILL);
        wait_for(pid_);
    }

    [[nodiscard]] bool ready() const noexcept { return ready_; }
    [[nodiscard]] std::string pid() const { return std::to_string(pid_); }
    [[nodiscard]] pid_t number() const noexcept { return pid_; }

  private:
    static bool hold(std::size_t pages, std::size_t touched)
    {
        void* const memory = mmap(nullptr, pages * 2_MiB, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
        return memory != MAP_FAILED && madvise(memory, touched * 2_MiB, MADV_POPULATE_WRITE) == 0;
    }
    static bool hold_swapped(std::size_t pages)
    {
        const int fd = memfd_create("swapped", MFD_HUGETLB | (21U << MFD_HUGE_SHIFT));
        const std::size_t length = pages * 2_MiB;
        void* const room =
            mmap(nullptr, length + 2_MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fd < 0 || room == MAP_FAILED || fallocate(fd, 0, 0, static_cast<off_t>(length)) != 0)
            return false;
        auto* const begin =
            reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(room) + 2_MiB - 1) & ~(2_MiB - 1));
        const std::size_t half = length / 2;
        for (const std::size_t part : {std::size_t{0}, half})
            if (mmap(begin + part, half, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                     static_cast<off_t>(half - part)) == MAP_FAILED)
                return false;
        return madvise(begin, length, MADV_POPULATE_READ) == 0;
    }

    pid_t pid_ = -1;
    bool ready_ = false;
};

class MrzMap : public MrzProgram {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "reading frames of another process needs root");
        none_free_.emplace(2_MiB, 0);
        MrzProgram::SetUp();
    }
    void TearDown() override
    {
        MrzProgram::TearDown();
        none_free_.reset();
        std::filesystem::remove(svg);
    }
    static Json only_range(const Json& object)
    {
        EXPECT_EQ(object.at("ranges").size(), 1U) << object;
        return object.at("ranges").at(0);
    }
    static std::string text_of(const std::filesystem::path& path)
    {
        std::ifstream file{path};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
    static bool is_xml(const std::filesystem::path& path)
    {
        RunningProgram python{{"/usr/bin/env", "python3", "-c",
                               "import sys, xml.dom.minidom; "
                               "assert xml.dom.minidom.parse(sys.argv[1]).documentElement.tagName == 'svg'",
                               path.string()}};
        const ProgramResult result = python.wait();
        EXPECT_EQ(result.status, 0) << result.err;
        return result.status == 0;
    }

    std::filesystem::path svg =
        std::filesystem::temp_directory_path() / ("mrz-map-" + std::to_string(getpid()) + ".svg");

  private:
    std::optional<PoolGuard> none_free_;
};

//! What the program must find, from the frames themselves.
struct Expected {
    std::size_t extents = 0;
    Layout layout;
};
Expected expect(pid_t pid, const Json& range)
{
    const std::uint64_t address = std::stoull(range.at("address").get<std::string>(), nullptr, 16);
    const Frames frames = read_frames_of(pid, address, range.at("length"), PageShift{21});
    Expected expected{.extents = 0, .layout = Layout::of_pages(frames.addresses, PageShift{21})};
    for (std::size_t i = 0; i < frames.addresses.size(); ++i)
        expected.extents += i == 0 || frames.addresses[i].value() != frames.addresses[i - 1].value() + 2_MiB ? 1 : 0;
    return expected;
}

TEST_F(MrzMap, ShowsWhereMemoryOfAProcessBreaks)
{
    const PoolGuard pool{2_MiB, 40};
    const Holder holder{40, 40, true};
    ASSERT_TRUE(holder.ready());
    const auto [status, object] = mrz_json({"map", "--pid", holder.pid(), "--svg", svg});
    ASSERT_EQ(status, 0) << object;
    EXPECT_TRUE(object.at("unknown").is_null());
    const Json range = only_range(object);
    EXPECT_EQ(range.at("length"), 80_MiB);
    EXPECT_EQ(range.at("page_size"), 2_MiB);
    EXPECT_EQ(range.at("name"), "/memfd:swapped (deleted)");
    EXPECT_EQ(range.at("mappings"), 2);

    const Expected expected = expect(holder.number(), range);
    ASSERT_GT(expected.extents, 1U) << "the halves are the wrong way round";
    EXPECT_EQ(range.at("breaks"), expected.extents - 1);
    ASSERT_EQ(range.at("extents").size(), expected.extents);
    for (std::size_t i = 0; i < expected.extents; ++i) {
        const Extent& extent = expected.layout.extents()[i];
        EXPECT_EQ(range.at("extents").at(i).at("dma"), format_hex(extent.dma.value()));
        EXPECT_EQ(range.at("extents").at(i).at("length"), extent.length);
    }
    const Iova iova{std::stoull(range.at("address").get<std::string>(), nullptr, 16)};
    const Plan plan = make_plan(expected.layout, iova, {.max_page_shift = host::max_registration_shift()});
    EXPECT_EQ(range.at("plan").at("mtt_entries"), plan.mtt_entries());

    ASSERT_TRUE(is_xml(svg));
    const std::string drawing = text_of(svg);
    std::size_t marks = 0;
    for (std::size_t at = 0; (at = drawing.find("<path class=\"break\"", at)) != std::string::npos; ++at)
        ++marks;
    EXPECT_EQ(marks, expected.extents) << "a mark a break, and one in the legend";
}

TEST_F(MrzMap, DrawsAPictureForAPersonAndAloneTheDrawingOnStandardOutput)
{
    const PoolGuard pool{2_MiB, 8};
    const Holder holder{8, 8, true};
    ASSERT_TRUE(holder.ready());
    const ProgramResult text = mrz({"map", "--pid", holder.pid()});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_NE(text.out.find("▐"), std::string::npos) << text.out;
    EXPECT_EQ(text.out.find('\033'), std::string::npos) << "a pipe is no terminal";

    const ProgramResult drawing = mrz({"map", "--pid", holder.pid(), "--svg", "-"});
    EXPECT_EQ(drawing.status, 0) << drawing.err;
    std::ofstream{svg} << drawing.out;
    EXPECT_TRUE(is_xml(svg));
    expect_error(mrz_json({"map", "--pid", holder.pid(), "--svg", "-"}), 2);
}

TEST_F(MrzMap, GuaranteesOnlyThePageSizeForPagesThatAreNotThereYet)
{
    const PoolGuard pool{2_MiB, 8};
    const Holder holder{8, 5, false};
    ASSERT_TRUE(holder.ready());
    const auto [status, object] = mrz_json({"map", "--pid", holder.pid()});
    ASSERT_EQ(status, 0) << object;
    const Json range = only_range(object);
    EXPECT_EQ(range.at("absent_pages"), 3);
    EXPECT_TRUE(range.at("plan").is_null());
    EXPECT_EQ(range.at("guaranteed").at("mtt_entries"), 8);
    EXPECT_TRUE(range.at("extents").back().at("dma").is_null());
}

TEST_F(MrzMap, SaysWhatIsUnknownToAnOrdinaryUser)
{
    const PoolGuard pool{2_MiB, 8};
    const Holder holder{8, 8, false, become_nobody};
    ASSERT_TRUE(holder.ready());
    const auto [status, object] = mrz_json({"map", "--pid", holder.pid()}, {}, become_nobody);
    ASSERT_EQ(status, 0) << object;
    const Json range = only_range(object);
    EXPECT_FALSE(range.at("frames_known"));
    EXPECT_TRUE(range.at("breaks").is_null());
    EXPECT_EQ(range.at("guaranteed").at("mtt_entries"), 8);
    EXPECT_NE(object.at("unknown").at("remedy").get<std::string>().find("root"), std::string::npos);
}

TEST_F(MrzMap, SaysThatAProcessHasNone)
{
    const auto [status, object] = mrz_json({"map", "--pid", std::to_string(getpid())});
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(object.at("ranges").empty());
    const ProgramResult text = mrz({"map", "--pid", std::to_string(getpid()), "--svg", svg});
    EXPECT_NE(text.out.find(": none"), std::string::npos) << text.out;
    EXPECT_TRUE(is_xml(svg));
}

TEST_F(MrzMap, RefusesWhatItCannotLookAt)
{
    const pid_t gone = start_child([] {});
    wait_for(gone);
    const auto missing = mrz_json({"map", "--pid", std::to_string(gone)});
    expect_error(missing, 2);
    EXPECT_EQ(missing.second.at("error").at("errno"), ESRCH);
    expect_error(mrz_json({"map", "--pid", "0"}), 2);
    expect_error(mrz_json({"map", "--pid", "1", "--size", "64M"}), 2);
    expect_error(mrz_json({"map", "--pid", "1"}, {}, become_nobody), 5);
    expect_error(mrz_json({"map", "--pid", std::to_string(getpid()), "--svg", "/does/not/exist.svg"}), 2);
    expect_error(mrz_json({"map", "--size", "3M"}), 2);
    expect_error(mrz_json({"map", "--page", "4M"}), 3);
}

TEST_F(MrzMap, BuildsAnArenaForTheLookAndPutsThePoolBack)
{
    const auto [status, object] = mrz_json({"map", "--size", "64M"});
    ASSERT_EQ(status, 0) << object;
    ASSERT_EQ(object.at("ranges").size(), 2U);
    EXPECT_EQ(object.at("ranges").at(0).at("length"), 2_MiB) << "the header page";
    const Json& block = object.at("ranges").at(1);
    EXPECT_EQ(block.at("length"), 64_MiB);
    EXPECT_GE(block.at("plan").at("mtt_entries"), 1);
    EXPECT_LE(block.at("plan").at("mtt_entries"), 32);
}

TEST_F(MrzMap, BuildsAnArenaWithoutSeeingFramesForAnOrdinaryUserWithPages)
{
    const PoolGuard pool{2_MiB, 100};
    const auto [status, object] = mrz_json({"map", "--size", "64M"}, {}, become_nobody);
    ASSERT_EQ(status, 0) << object;
    EXPECT_FALSE(object.at("ranges").at(1).at("frames_known"));
    EXPECT_FALSE(object.at("unknown").is_null());
}

} // namespace
} // namespace mrz::test

// SPDX-License-Identifier: BSD-3-Clause
#include "common/pool_changes.hpp"

#include "common/output.hpp"
#include "common/temporary_pool.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace mrz::app {
namespace {

using namespace mrz::literals;

// A machine of files: what is written into nr_hugepages is what the pool has.
class Pools : public testing::Test {
  protected:
    Pools()
    {
        std::string pattern = std::filesystem::temp_directory_path() / "mrzone-apps-XXXXXX";
        folder = mkdtemp(pattern.data());
        write("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\nHugepagesize: 2048 kB\n");
        write("/proc/sys/vm/compact_memory", "");
        pool("/sys/kernel/mm/hugepages/hugepages-2048kB", 10, 10);
        for (const int node : {0, 1}) {
            const std::string place = "/sys/devices/system/node/node" + std::to_string(node);
            write(place + "/meminfo", "Node 0 MemTotal: 4194304 kB\nNode 0 MemFree: 4194304 kB\n");
            pool(place + "/hugepages/hugepages-2048kB", 5, 5);
        }
        write("/sys/devices/system/node/has_memory", "0-1\n");
        machine = {.root = host::Root{folder / "root"}, .run_dir = folder / "run"};
    }
    ~Pools() override
    {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }

    void write(const std::string& absolute, const std::string& text) const
    {
        const std::filesystem::path file = folder / "root" / absolute.substr(1);
        std::filesystem::create_directories(file.parent_path());
        std::ofstream{file} << text;
    }
    void pool(const std::string& place, int total, int free) const
    {
        write(place + "/nr_hugepages", std::to_string(total) + "\n");
        write(place + "/free_hugepages", std::to_string(free) + "\n");
        for (const char* const file : {"surplus_hugepages", "resv_hugepages", "nr_overcommit_hugepages"})
            write(place + "/" + file, "0\n");
    }
    std::uint64_t pages(int node) const { return read_pool(2_MiB, node, machine.root).total; }
    Json journal() const
    {
        std::ifstream file{machine.run_dir / "pools.json"};
        return Json::parse(file);
    }
    // As if a program had been killed.
    void abandon(const std::string& state, std::vector<NodePages> nodes) const
    {
        std::filesystem::create_directories(machine.run_dir);
        PoolJournal file{machine.run_dir};
        file.owned.push_back({.owner = {.pid = 1, .start_time = 1}, // the process 1 that runs began later
                              .command = "mrz",
                              .serial = file.next_serial(),
                              .page_size = 2_MiB,
                              .state = state == "held" ? OwnedChange::State::held : OwnedChange::State::changing,
                              .nodes = std::move(nodes)});
        file.save();
    }

    // Another program that runs: process 1.
    void hold_by_another(std::uint64_t pages, int node) const
    {
        std::ifstream file{"/proc/1/stat"};
        std::string text{std::istreambuf_iterator<char>{file}, {}};
        std::istringstream fields{text.substr(text.rfind(')') + 1)};
        std::string field;
        for (int i = 3; i <= 22; ++i) // proc(5)
            fields >> field;
        std::filesystem::create_directories(machine.run_dir);
        PoolJournal journal{machine.run_dir};
        journal.owned.push_back({.owner = {.pid = 1, .start_time = std::stoull(field)},
                                 .command = "mrz",
                                 .serial = journal.next_serial(),
                                 .page_size = 2_MiB,
                                 .state = OwnedChange::State::held,
                                 .nodes = {{node, pages}},
                                 .claim = {node, pages}});
        journal.save();
    }
    void write_journal(const std::string& text) const
    {
        std::filesystem::create_directories(machine.run_dir);
        std::ofstream{machine.run_dir / "pools.json"} << text;
    }

    std::filesystem::path folder;
    PoolMachine machine;
};

TEST_F(Pools, AreRestoredToWhatTheyWereBeforeTheFirstSet)
{
    PoolChanges{machine}.set({2_MiB, 0, 7});
    EXPECT_EQ(pages(0), 7U);
    PoolChanges{machine}.set({2_MiB, 0, 9});
    PoolChanges{machine}.set({2_MiB, 1, 1});
    EXPECT_EQ(journal().at("sets").size(), 1U);

    const auto steps = PoolChanges{machine}.restore();
    EXPECT_EQ(steps.size(), 2U);
    EXPECT_EQ(pages(0), 5U);
    EXPECT_EQ(pages(1), 5U);
    EXPECT_FALSE(std::filesystem::exists(machine.run_dir)) << "nothing to remember leaves nothing behind";
}

TEST_F(Pools, SayWhatTheyWereWhatWasAskedAndWhatWasObtained)
{
    const PoolStep step = PoolChanges{machine}.set({2_MiB, 0, 7});
    EXPECT_EQ(step.before, 5U);
    EXPECT_EQ(step.asked, 7U);
    EXPECT_EQ(step.obtained, 7U);
}

TEST_F(Pools, ArePreviewedWithoutAChange)
{
    const PoolStep step = PoolChanges::preview({2_MiB, 0, 7}, machine);
    EXPECT_EQ(step.before, 5U);
    EXPECT_EQ(pages(0), 5U);
    EXPECT_FALSE(std::filesystem::exists(machine.run_dir));
}

TEST_F(Pools, RefuseMoreThanTheMemoryThatIsAvailableBeforeTheyAskTheKernel)
{
    try {
        PoolChanges{machine}.set({2_MiB, 0, 5 + 2049});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::hugepages);
        EXPECT_EQ(error.cause().present, 4_GiB);
        EXPECT_EQ(error.cause().need, 4_GiB + 2_MiB);
    }
    EXPECT_EQ(pages(0), 5U);
    EXPECT_FALSE(std::filesystem::exists(machine.run_dir));
}

TEST_F(Pools, GiveBackOnlyWhatATemporaryGrowthAdded)
{
    {
        const TemporaryPool temporary{2_MiB, 0, 12, Effort::light, machine};
        EXPECT_EQ(temporary.added(), 7U);
        EXPECT_EQ(pages(0), 12U);
        // Somebody else changes the pool meanwhile.
        pool("/sys/devices/system/node/node0/hugepages/hugepages-2048kB", 20, 20);
    }
    EXPECT_EQ(pages(0), 13U);
    EXPECT_FALSE(std::filesystem::exists(machine.run_dir));
}

TEST_F(Pools, AreLeftAloneByATemporaryPoolThatFindsEnough)
{
    const TemporaryPool temporary{2_MiB, 0, 5, Effort::light, machine};
    EXPECT_EQ(temporary.added(), 0U);
    EXPECT_FALSE(std::filesystem::exists(machine.run_dir));
}

TEST_F(Pools, AreEnlargedBesideWhatAnotherProgramAddedAndHasNotTakenYet)
{
    pool("/sys/devices/system/node/node0/hugepages/hugepages-2048kB", 12, 12);
    hold_by_another(10, 0);
    EXPECT_EQ(unclaimed_pages(2_MiB, 0, machine), 2U);
    {
        const TemporaryPool temporary{2_MiB, 0, 12, Effort::light, machine};
        EXPECT_EQ(temporary.added(), 10U);
        EXPECT_EQ(pages(0), 22U);
        EXPECT_EQ(journal().at("owned").at(1).at("claim").at("pages"), 12)
            << "the two that were there are not the next program's either";
    }
    EXPECT_EQ(pages(0), 12U);
}

TEST_F(Pools, ArePlentyWhereAnotherProgramsClaimLeavesEnough)
{
    hold_by_another(3, 0);
    const TemporaryPool temporary{2_MiB, 0, 2, Effort::light, machine};
    EXPECT_EQ(temporary.added(), 0U);
}

TEST_F(Pools, KeepTheirSetSizeBelowATemporaryGrowth)
{
    {
        const TemporaryPool temporary{2_MiB, 0, 12, Effort::light, machine};
        PoolChanges{machine}.set({2_MiB, 0, 6});
        EXPECT_EQ(pages(0), 6U + 7U);
    }
    EXPECT_EQ(pages(0), 6U);
    PoolChanges{machine}.restore();
    EXPECT_EQ(pages(0), 5U);
}

TEST_F(Pools, AreGivenBackWhatAKilledProgramHeld)
{
    abandon("held", {{0, 3}});
    const PoolChanges changes{machine};
    EXPECT_EQ(changes.undone().size(), 1U);
    EXPECT_EQ(pages(0), 2U);
}

TEST_F(Pools, GoBackToWhereAKilledChangeBegan)
{
    abandon("changing", {{0, 4}, {1, 6}});
    undo_what_a_kill_left(machine);
    EXPECT_EQ(pages(0), 4U);
    EXPECT_EQ(pages(1), 6U);
    undo_what_a_kill_left(machine);
    EXPECT_EQ(pages(0), 4U);
    EXPECT_FALSE(std::filesystem::exists(machine.run_dir));
}

TEST_F(Pools, ForgetASetThatWasKilledUnderWay)
{
    write_journal(R"({"schema": 1,
        "sets": [{"page_size": 2097152, "before": [{"node": 0, "pages": 4}, {"node": 1, "pages": 5}], "made_by": 1}],
        "owned": [{"pid": 1, "start_time": 1, "command": "mrz", "serial": 1, "page_size": 2097152,
                   "state": "changing", "nodes": [{"node": 0, "pages": 4}, {"node": 1, "pages": 5}]}]})");
    undo_what_a_kill_left(machine);
    EXPECT_EQ(pages(0), 4U);
    EXPECT_FALSE(std::filesystem::exists(machine.run_dir)) << "a later restore would bring back sizes nobody set";
}

TEST_F(Pools, RememberTheFirstSetWhenALaterOneIsKilled)
{
    PoolChanges{machine}.set({2_MiB, 0, 7});
    EXPECT_EQ(journal().at("sets").at(0).at("made_by"), 0);
    abandon("changing", {{0, 7}, {1, 5}});
    undo_what_a_kill_left(machine);
    PoolChanges{machine}.restore();
    EXPECT_EQ(pages(0), 5U);
}

TEST_F(Pools, AreLeftAloneWhileTheOwnerLives)
{
    const TemporaryPool temporary{2_MiB, 0, 12, Effort::light, machine};
    EXPECT_TRUE(undo_what_a_kill_left(machine).empty());
    EXPECT_EQ(pages(0), 12U);
}

TEST_F(Pools, AreNotTouchedWhereTheJournalCannotBeRead)
{
    std::filesystem::create_directories(machine.run_dir);
    std::ofstream{machine.run_dir / "pools.json"} << "{ \"schema\": 1, ";
    try {
        PoolChanges{machine}.set({2_MiB, 0, 7});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_NE(error.cause().what.find("pools.json"), std::string::npos);
    }
    EXPECT_EQ(pages(0), 5U);
    EXPECT_TRUE(std::filesystem::exists(machine.run_dir / "pools.json"));
}

TEST_F(Pools, AreNotTouchedWhereTheJournalHoldsWhatNobodyWrites)
{
    const std::string set = R"({"schema": 1, "owned": [], "sets": [{"page_size": 2097152, "before": )";
    const std::string owned = R"({"schema": 1, "sets": [], "owned": [{"pid": 1, "start_time": 1, "command": "mrz",
                                  "page_size": 2097152, "nodes": [{"node": 0, "pages": 1}], )";
    const std::pair<std::string, const char*> table[] = {
        {set + R"([{"node": 0, "pages": -1}]}]})", "pages"},
        {set + R"([{"node": 0, "pages": 1.5}]}]})", "pages"},
        {set + R"([{"node": 4294967296, "pages": 1}]}]})", "node"},
        {set + R"({"node": 0, "pages": 1}}]})", "before"},
        {owned + R"("serial": 1, "state": "chang"}]})", "chang"},
        {owned + R"("serial": -1, "state": "held"}]})", "serial"},
        {owned + R"("serial": 18446744073709551615, "state": "held"}]})", "serial"},
        {R"({"schema": 2, "sets": [], "owned": []})", "version"},
    };
    for (const auto& [text, named] : table) {
        write_journal(text);
        try {
            PoolChanges{machine}.set({2_MiB, 0, 7});
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::invalid) << text;
            EXPECT_NE(error.cause().what.find("pools.json"), std::string::npos);
            EXPECT_NE(error.cause().limit.find(named), std::string::npos) << error.what();
        }
        EXPECT_EQ(pages(0), 5U) << text;
    }
}

TEST_F(Pools, NeedAJournalsFolderThatCanBe)
{
    const auto expect_refused = [this](const char* which) {
        try {
            PoolChanges{machine}.set({2_MiB, 0, 7});
            ADD_FAILURE() << which;
        } catch (const Error& error) {
            EXPECT_EQ(error.cause().trouble, Trouble::invalid) << which;
            EXPECT_NE(error.cause().what.find(machine.run_dir.string()), std::string::npos) << error.what();
        }
        EXPECT_EQ(pages(0), 5U);
    };
    std::filesystem::create_symlink(folder / "nowhere", machine.run_dir);
    expect_refused("a link without a target");
    std::filesystem::remove(machine.run_dir);
    std::ofstream{machine.run_dir} << "a file";
    expect_refused("a file");
    machine.run_dir = folder / "no" / "parent";
    expect_refused("a folder without a parent");
}

TEST(ProcessIdentity, TellsALaterProcessWithTheSameNumberFromThisOne)
{
    ProcessId self = ProcessId::self();
    EXPECT_TRUE(self.alive());
    ++self.start_time;
    EXPECT_FALSE(self.alive());
}

} // namespace
} // namespace mrz::app

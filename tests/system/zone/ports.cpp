// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Arenas mapped for ports: for one of software, as DPDK has it; and for a device on a bus that maps memory, of which
//! this machine need not have one, so that DPDK's answers for it are this file's.
#include <mrzone/zone.hpp>

#include "support/eal.hpp"
#include "support/in_child.hpp"
#include "support/pool_guard.hpp"
#include "support/require.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_bus.h>
#include <rte_config.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace mrz;
using namespace mrz::test;
using testing::HasSubstr;

namespace {

struct Map {
    std::byte* address;
    std::uint64_t iova;
    std::size_t length;
    friend bool operator==(const Map&, const Map&) = default;
};

//! What the device of a port would know, where the bus is made up.
struct MadeUpBus {
    bool present = false;
    int refuse_at = -1; //!< The number of maps after which it refuses.
    int refusal = ENOMEM;
    std::function<void()> before_refusing = [] {};
    bool lacks_a_window = false; //!< Is asked to unmap what it was never told of.
    std::vector<Map> maps;
} made_up;

template <class Function>
Function* next(const char* name)
{
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

} // namespace

// These come before DPDK's, whose own answer where the bus is a real one.
extern "C" {
int rte_dev_dma_map(rte_device* device, void* address, uint64_t iova, size_t length)
{
    if (!made_up.present)
        return next<int(rte_device*, void*, uint64_t, size_t)>("rte_dev_dma_map")(device, address, iova, length);
    if (made_up.refuse_at == static_cast<int>(made_up.maps.size())) {
        made_up.before_refusing();
        rte_errno = made_up.refusal;
        return -1;
    }
    made_up.maps.push_back({static_cast<std::byte*>(address), iova, length});
    return 0;
}

int rte_dev_dma_unmap(rte_device* device, void* address, uint64_t iova, size_t length)
{
    if (!made_up.present)
        return next<int(rte_device*, void*, uint64_t, size_t)>("rte_dev_dma_unmap")(device, address, iova, length);
    if (std::erase(made_up.maps, Map{static_cast<std::byte*>(address), iova, length}) == 1)
        return 0;
    EXPECT_TRUE(made_up.lacks_a_window);
    rte_errno = ENOENT;
    return -1;
}

const char* rte_bus_name(const rte_bus* bus)
{
    return made_up.present ? "pci" : next<const char*(const rte_bus*)>("rte_bus_name")(bus);
}
}

namespace {

class Ports : public testing::Test {
  protected:
    void SetUp() override
    {
        MRZ_REQUIRE(geteuid() == 0, "needs root");
        pool_.emplace(2_MiB, 128);
    }
    static std::vector<std::string> eal(const std::string& mode)
    {
        return {"--in-memory", "--iova-mode=" + mode, "--vdev=net_null0"};
    }
    static std::size_t bytes_mapped()
    {
        std::size_t bytes = 0;
        for (const Map& map : made_up.maps)
            bytes += map.length;
        return bytes;
    }

    std::optional<PoolGuard> pool_;
};

template <class Call>
std::pair<int, std::string> refusal_of(Call&& call)
{
    try {
        static_cast<void>(call());
    } catch (const Error& error) {
        return {error.error_number(), error.what()};
    }
    return {0, "nothing was refused"};
}

} // namespace

TEST_F(Ports, OfSoftwareHaveNothingToMap)
{
    in_child([] {
        const Eal eal_{eal("va")};
        Arena arena = Arena::build("data", {.size = 4_MiB});
        EXPECT_EQ(arena.map_for(0), PortMapping::nothing_to_map);
        EXPECT_EQ(arena.map_for(0), PortMapping::nothing_to_map);
        arena.grow(2_MiB);
        arena.close();
        EXPECT_EQ(refusal_of([&] { return arena.map_for(0); }).first, EBADF);
    });
}

TEST_F(Ports, ThatAreNotThereAreRefused)
{
    in_child([] {
        const Eal eal_{eal("va")};
        Arena arena = Arena::build("data", {.size = 4_MiB});
        const auto [error, text] = refusal_of([&] { return arena.map_for(7); });
        EXPECT_EQ(error, ENODEV);
        EXPECT_THAT(text, HasSubstr("port 7"));
    });
}

TEST_F(Ports, KnowEveryWindowUntilTheArenaIsClosed)
{
    in_child([] {
        const Eal eal_{eal("va")};
        made_up.present = true;
        Arena arena = Arena::build("data", {.size = 4_MiB});
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        const Window& window = arena.windows()[0];
        ASSERT_EQ(made_up.maps.size(), 1U);
        EXPECT_EQ(made_up.maps[0],
                  (Map{window.address(), reinterpret_cast<std::uintptr_t>(window.address()), window.length()}));
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped); // once is enough
        EXPECT_EQ(made_up.maps.size(), 1U);
        arena.grow(2_MiB);
        EXPECT_EQ(bytes_mapped(), 4_MiB + 2_MiB + 2 * Window::header_size);
        arena.close();
        EXPECT_TRUE(made_up.maps.empty());
    });
}

TEST_F(Ports, AreToldFramesWhereTheEalUsesThem)
{
    in_child([] {
        const Eal eal_{eal("pa")};
        made_up.present = true;
        Arena arena = Arena::build("data", {.size = 8_MiB});
        arena.map_for(0);
        EXPECT_EQ(bytes_mapped(), 8_MiB + Window::header_size);
        const Window& window = arena.windows()[0];
        for (const Map& map : made_up.maps)
            EXPECT_EQ(map.iova,
                      window.frames()[static_cast<std::size_t>(map.address - window.address()) >> 21].value());
        arena.close();
        EXPECT_TRUE(made_up.maps.empty());
    });
}

TEST_F(Ports, ThatRefuseAreLeftWithNothing)
{
    in_child([] {
        const Eal eal_{eal("va")};
        made_up.present = true;
        Arena arena = Arena::build("data", {.size = 4_MiB});
        arena.grow(2_MiB);
        made_up.refuse_at = 1; // the second window
        EXPECT_EQ(refusal_of([&] { return arena.map_for(0); }).first, ENOMEM);
        EXPECT_TRUE(made_up.maps.empty());
        made_up.refuse_at = 0;
        made_up.refusal = ENOTSUP;
        EXPECT_THAT(refusal_of([&] { return arena.map_for(0); }).second, HasSubstr("vfio-pci"));

        made_up.refuse_at = -1;
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        made_up.refuse_at = 2; // the window to come
        EXPECT_EQ(refusal_of([&] { return arena.grow(2_MiB), 0; }).first, ENOTSUP);
        EXPECT_EQ(arena.windows().size(), 2U);
        EXPECT_EQ(made_up.maps.size(), 2U);
        arena.close();
        EXPECT_TRUE(made_up.maps.empty());
    });
}

TEST_F(Ports, ThatRefuseAWindowInUseDoNotPullItAway)
{
    in_child([] {
        const Eal eal_{eal("va")};
        made_up.present = true;
        Arena arena = Arena::build("data", {.size = 4_MiB});
        EXPECT_EQ(arena.map_for(0), PortMapping::mapped);
        // Another thread is as quick: it has memory of the window before the port refuses it.
        void* taken = nullptr;
        made_up.refuse_at = 1;
        made_up.before_refusing = [&] { taken = rte_malloc_socket("early", 6_MiB, 64, arena.socket_id()); };
        std::vector<std::string> said;
        set_log_sink([&said](Severity, std::string_view line) { said.emplace_back(line); });
        EXPECT_EQ(refusal_of([&] { return arena.grow(8_MiB), 0; }).first, ENOMEM);
        ASSERT_NE(taken, nullptr);
        EXPECT_EQ(said.size(), 1U);
        EXPECT_EQ(arena.windows().size(), 2U);
        std::memset(taken, 1, 6_MiB);
        rte_free(taken);
        made_up.lacks_a_window = true;
        arena.close();
        set_log_sink({});
        EXPECT_TRUE(made_up.maps.empty());
    });
}

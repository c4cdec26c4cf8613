// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Two connected queue pairs of a device, memory with room around it, and work that is waited for.
#pragma once

#include "departures.hpp"
#include "report.hpp"
#include "support/pair.hpp"

#include <mrzone/region.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace mrz {

inline void PrintTo(Access access, std::ostream* stream)
{
    *stream << to_string(access);
}

namespace test {

constexpr Access all_rights =
    Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic;

//! Anonymous memory filled with a pattern.
class Buffer {
  public:
    explicit Buffer(std::size_t length, unsigned seed = 1) : length_{length}
    {
        address_ = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (address_ == MAP_FAILED)
            throw std::runtime_error{"no memory for the test"};
        // Small pages, so that there are breaks between frames.
        ::madvise(address_, length, MADV_NOHUGEPAGE);
        for (std::size_t i = 0; i < length; ++i)
            bytes()[i] = static_cast<std::byte>(i * 7 + i / 251 + seed * 31);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { ::munmap(address_, length_); }

    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), length_}; }
    [[nodiscard]] std::vector<std::byte> copy() const
    {
        std::vector<std::byte> result(length_);
        std::memcpy(result.data(), address_, length_);
        return result;
    }

  private:
    void* address_;
    std::size_t length_;
};

//! Whole memories are compared so often that, under a sanitizer, one byte at a time would take minutes.
inline bool same(std::span<const std::byte> a, std::span<const std::byte> b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

//! The parameter is the name of a device.
class Conformance : public testing::TestWithParam<std::string> {
  protected:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t region_length = 3 * page + 104; // whole words, but not whole pages
    static constexpr std::size_t margin = page + 40;             // of memory on both sides of a region

    //! Expects a cell to be as it should, and puts it into the report.
    static void ends(Cell cell)
    {
        if (std::ranges::find(cell.expected, cell.happened) == cell.expected.end())
            cell.departure = departure(GetParam(), cell);
        if (cell.departure.empty()) {
            EXPECT_THAT(cell.expected, testing::Contains(cell.happened))
                << cell.table << ": " << cell.row << ", " << cell.column;
        }
        Report::instance().add(GetParam(), std::move(cell));
    }
    //! An operation that must end in one error: a row of its own.
    static void ends_in(const std::string& how, WcStatus expected, WcStatus happened)
    {
        ends({"each error", std::string{to_string(expected)} + ": " + how, "ended", happened, {expected}});
    }

    //! An operation on the far memory, with room in \p local for what it carries. Points to \p local.
    static SendRequest request(Opcode opcode, const Segment& local, Iova at, RKey rkey)
    {
        return {.id = 7,
                .opcode = opcode,
                .segments = {&local, 1},
                .immediate = 0xfeed,
                .remote_iova = at,
                .rkey = rkey,
                .compare = 0,
                .swap_or_add = 1};
    }
    //! The far memory's region: in the middle, so that there is memory before and behind it.
    [[nodiscard]] Region expose(const Domain& in, Access access) const
    {
        return in.register_memory(far_memory.bytes().subspan(margin, region_length), access);
    }
    [[nodiscard]] Region own(Access access = Access::local_write) const
    {
        return domain.register_memory(near_memory.bytes(), access);
    }

    const Quirks quirks = quirks_of(GetParam());
    Domain domain = Domain::open(GetParam());
    Buffer near_memory{8 * page, 1};
    Buffer far_memory{region_length + 2 * margin, 2};
};

//! Every device of every driver, or of some; or the one that MRZ_CONFORMANCE_DEVICE names. Where several drivers know
//! a device, all but the first are named, too.
inline std::vector<std::string> devices_of(std::initializer_list<std::string_view> wanted = {})
{
    const char* const only = std::getenv("MRZ_CONFORMANCE_DEVICE");
    std::vector<std::string> known;
    std::vector<std::string> names;
    for (const Driver& driver : drivers()) {
        for (const std::string& device : driver.list()) {
            std::string name = device;
            if (std::ranges::find(known, device) != known.end())
                name.insert(0, std::string{driver.name} + ':');
            else
                known.push_back(device);
            if ((wanted.size() == 0 || std::ranges::find(wanted, driver.name) != wanted.end()) &&
                (only == nullptr || name == only))
                names.push_back(std::move(name));
        }
    }
    return names;
}

inline std::string device_name(const testing::TestParamInfo<std::string>& info)
{
    std::string name = info.param;
    std::ranges::replace_if(
        name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

} // namespace test
} // namespace mrz

//! Gives a fixture, which is Conformance under a name of its own, its devices.
#define MRZ_EVERY_DEVICE(fixture)                                                                                    \
    INSTANTIATE_TEST_SUITE_P(EveryDevice, fixture, testing::ValuesIn(mrz::test::devices_of()), mrz::test::device_name)

//! The same for what only devices of the drivers that are named promise.
#define MRZ_DEVICES_OF(fixture, ...)                                                                                 \
    GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(fixture);                                                          \
    INSTANTIATE_TEST_SUITE_P(EveryDevice, fixture, testing::ValuesIn(mrz::test::devices_of({__VA_ARGS__})),          \
                             mrz::test::device_name)

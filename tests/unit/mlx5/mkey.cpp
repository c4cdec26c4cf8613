// SPDX-License-Identifier: BSD-3-Clause
#include "mkey.hpp"

#include <layouts/memory.hpp>
#include <layouts/wqe.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace mrz::mlx5 {
namespace {

namespace mkc = layouts::mkc;
namespace in = layouts::create_mkey_in;

constexpr MkeySpec spec{.pd = 0xabcdef,
                        .start = Iova{0x7f00'0020'0064},
                        .length = 0x1'2345,
                        .access = Access::local_write | Access::remote_read,
                        .variant = 0x5a};

std::uint64_t field(const Command& command, layouts::Field field)
{
    return layouts::get(layouts::part(command.bytes(), in::memory_key_mkey_entry), field);
}

//! The answer that a device with this key gives.
std::vector<std::byte> answer_of(const Command& command)
{
    std::vector<std::byte> answer(layouts::query_mkey_out::bytes);
    const auto context = layouts::part(command.bytes(), in::memory_key_mkey_entry);
    std::ranges::copy(context,
                      layouts::part(std::span{answer}, layouts::query_mkey_out::memory_key_mkey_entry).begin());
    return answer;
}
void tell(std::vector<std::byte>& answer, layouts::Field field, std::uint64_t value)
{
    layouts::set(layouts::part(std::span{answer}, layouts::query_mkey_out::memory_key_mkey_entry), field, value);
}

TEST(Mlx5Mkey, OverAUmemSaysExactlyWhatItCovers)
{
    const Command command = create_direct_mkey(spec, 77, 0x3000);
    EXPECT_EQ(command.bytes().size(), in::bytes);
    EXPECT_EQ(layouts::get(command.bytes(), layouts::command_in::opcode), 0x200U);
    EXPECT_EQ(layouts::get(command.bytes(), in::mkey_umem_valid), 1U);
    EXPECT_EQ(layouts::get(command.bytes(), in::mkey_umem_id), 77U);
    EXPECT_EQ(layouts::get(command.bytes(), in::mkey_umem_offset), 0x3000U);
    EXPECT_EQ(field(command, mkc::access_mode_1_0), 1U);
    EXPECT_EQ(field(command, mkc::start_addr), spec.start.value());
    EXPECT_EQ(field(command, mkc::len), spec.length);
    EXPECT_EQ(field(command, mkc::pd), spec.pd);
    EXPECT_EQ(field(command, mkc::qpn), 0xffffffU);
    EXPECT_EQ(field(command, mkc::mkey_7_0), 0x5aU);
}

TEST(Mlx5Mkey, GrantsWhatWasAskedFor)
{
    constexpr std::array rights{std::pair{Access::local_write, mkc::lw}, std::pair{Access::remote_read, mkc::rr},
                                std::pair{Access::remote_write, mkc::rw}, std::pair{Access::remote_atomic, mkc::a}};
    for (unsigned mask = 0; mask < 16; ++mask) {
        MkeySpec some = spec;
        some.access = Access::local_read;
        some.local_read = mask % 2 != 0;
        for (std::size_t i = 0; i < rights.size(); ++i)
            if ((mask >> i & 1) != 0)
                some.access = some.access | rights[i].first;
        const Command command = create_direct_mkey(some, 1, 0);
        EXPECT_EQ(field(command, mkc::lr), mask % 2);
        for (std::size_t i = 0; i < rights.size(); ++i)
            EXPECT_EQ(field(command, rights[i].second), mask >> i & 1);
        std::vector<std::byte> answer = answer_of(command);
        tell(answer, mkc::log_page_size, 12);
        EXPECT_EQ(parse_mkey(answer)->access, some.access);
        EXPECT_EQ(parse_mkey(answer)->local_read, some.local_read);
    }
}

TEST(Mlx5Mkey, IsOrderedAsItIsTold)
{
    MkeySpec some = spec;
    EXPECT_EQ(field(create_direct_mkey(some, 1, 0), mkc::relaxed_ordering_write), 0U);
    some.relaxed_write = true;
    some.relaxed_read = true;
    EXPECT_EQ(field(create_direct_mkey(some, 1, 0), mkc::relaxed_ordering_write), 1U);
    EXPECT_EQ(field(create_direct_mkey(some, 1, 0), mkc::relaxed_ordering_read), 1U);
}

TEST(Mlx5Mkey, OverOthersListsThemInFours)
{
    for (std::uint32_t count : {1U, 4U, 5U}) {
        std::vector<MkeyEntry> entries;
        for (std::uint32_t i = 0; i < count; ++i)
            entries.push_back({.length = 0x8000'0000, .mkey = 0x100 * i + 7, .iova = Iova{0x10'0000 * i}});
        const Command command = create_indirect_mkey(spec, entries, {});
        const std::uint64_t listed = (count + 3) / 4 * 4;
        EXPECT_EQ(command.bytes().size(), in::bytes + 16 * listed);
        EXPECT_EQ(layouts::get(command.bytes(), in::mkey_umem_valid), 0U);
        EXPECT_EQ(layouts::get(command.bytes(), in::translations_octword_actual_size), listed);
        EXPECT_EQ(field(command, mkc::translations_octword_size), listed);
        EXPECT_EQ(field(command, mkc::access_mode_1_0), 2U);
        const auto list = layouts::part(command.bytes(), in::klm_pas_mtt);
        for (std::uint32_t i = 0; i < listed; ++i) {
            const auto entry = list.subspan(16 * i, 16);
            EXPECT_EQ(layouts::get(entry, layouts::klm::bcount), i < count ? 0x8000'0000U : 0U);
            EXPECT_EQ(layouts::get(entry, layouts::klm::key), i < count ? 0x100 * i + 7 : 0);
            EXPECT_EQ(layouts::get(entry, layouts::klm::va), i < count ? 0x10'0000 * i : 0);
        }
    }
}

TEST(Mlx5Mkey, OverOthersOfOneLengthHasItInItsContext)
{
    const std::vector<MkeyEntry> entries(4, {.length = 0x20'0000, .mkey = 7});
    const Command command = create_indirect_mkey(spec, entries, PageShift{21});
    EXPECT_EQ(field(command, mkc::access_mode_1_0), 3U);
    EXPECT_EQ(field(command, mkc::log_page_size), 21U);
    EXPECT_EQ(layouts::get(layouts::part(command.bytes(), in::klm_pas_mtt), layouts::klm::bcount), 0U);
}

TEST(Mlx5Mkey, IsToldWithTheEntriesThatItsPagesAre)
{
    std::vector<std::byte> answer = answer_of(create_direct_mkey(spec, 1, 0));
    tell(answer, mkc::log_page_size, 12);
    const auto pages = parse_mkey(answer)->built.entries;
    EXPECT_EQ(pages, (0x64U + 0x1'2345U + 4095U) / 4096U);
    tell(answer, mkc::translations_octword_size, (pages + 1) / 2);
    EXPECT_EQ(parse_mkey(answer)->built.entries, pages);
    EXPECT_EQ(parse_mkey(answer)->built.page_shift, PageShift{12});
    EXPECT_EQ(parse_mkey(answer)->built.iova, spec.start);
    EXPECT_EQ(parse_mkey(answer)->built.length, spec.length);
    EXPECT_FALSE(parse_mkey(answer)->built.indirect);
    // A device that built something else.
    tell(answer, mkc::translations_octword_size, 500);
    EXPECT_EQ(parse_mkey(answer)->built.entries, 1000U);
}

TEST(Mlx5Mkey, IsNotToldByADeviceThatLeavesItToTheUmem)
{
    EXPECT_FALSE(parse_mkey(answer_of(create_direct_mkey(spec, 1, 0))));
    EXPECT_FALSE(parse_mkey(std::vector<std::byte>(16)));
    std::vector<std::byte> odd = answer_of(create_direct_mkey(spec, 1, 0));
    tell(odd, mkc::log_page_size, 3);
    EXPECT_FALSE(parse_mkey(odd));
}

TEST(Mlx5Mkey, OverOthersIsToldWithItsKind)
{
    const std::vector<MkeyEntry> entries(5);
    const auto klm = parse_mkey(answer_of(create_indirect_mkey(spec, entries, {})));
    ASSERT_TRUE(klm);
    EXPECT_EQ(klm->built.indirect, IndirectKind::klm);
    EXPECT_EQ(klm->built.entries, 8U);
    const auto ksm = parse_mkey(answer_of(create_indirect_mkey(spec, entries, PageShift{30})));
    ASSERT_TRUE(ksm);
    EXPECT_EQ(ksm->built.indirect, IndirectKind::ksm);
    EXPECT_EQ(ksm->built.page_shift, PageShift{30});
}

} // namespace
} // namespace mrz::mlx5

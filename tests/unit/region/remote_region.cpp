// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/region.hpp>

#include "checksum.hpp"

#include "support/fake_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::test {
namespace {

using testing::HasSubstr;

constexpr RemoteRegion example{.iova = Iova{0x7f12'3456'0040},
                               .length = 0x1234'5678,
                               .rkey = RKey{0xdead'be07},
                               .access = Access::remote_read | Access::remote_write,
                               .page_shift = PageShift{21},
                               .generation = 0x0102'0304'0506'0708};

//! \p example in bytes, made by another program: the checksum by its definition, bit by bit.
constexpr std::array<std::uint8_t, 48> example_bytes{
    0x6d, 0x72, 0x7a, 0x52, 0x01, 0x15, 0x00, 0x06, 0x00, 0x00, 0x7f, 0x12, 0x34, 0x56, 0x00, 0x40,
    0x00, 0x00, 0x00, 0x00, 0x12, 0x34, 0x56, 0x78, 0xde, 0xad, 0xbe, 0x07, 0x01, 0x02, 0x03, 0x04,
    0x05, 0x06, 0x07, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1c, 0x2a, 0xc8, 0xb3};

std::vector<std::byte> good_bytes()
{
    const auto packed = example.pack();
    return {packed.begin(), packed.end()};
}

//! With some bytes replaced, from \p at on, and a checksum that fits.
std::vector<std::byte> with(std::size_t at, std::initializer_list<int> values)
{
    std::vector<std::byte> bytes = good_bytes();
    for (const int value : values)
        bytes[at++] = static_cast<std::byte>(value);
    const std::uint32_t sum = crc32c(std::span{bytes}.first(44));
    for (unsigned i = 0; i < 4; ++i)
        bytes[44 + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
    return bytes;
}

//! What is said against it; "" if it was taken.
std::string refusal(std::span<const std::byte> bytes)
{
    try {
        static_cast<void>(RemoteRegion::unpack(bytes));
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EBADMSG);
        EXPECT_EQ(error.cause().trouble, Trouble::data);
        return error.what();
    }
    return "";
}

TEST(Checksum, IsCrc32c)
{
    // RFC 3720, B.4, and the check value of the catalogue of parametrised CRC algorithms.
    EXPECT_EQ(crc32c(std::as_bytes(std::span{std::string_view{"123456789"}})), 0xe306'9283U);
    EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8a91'36aaU);
    EXPECT_EQ(crc32c({}), 0U);
}

TEST(RemoteRegion, IsPackedByteForByteAsDocumented)
{
    const auto packed = example.pack();
    ASSERT_EQ(packed.size(), example_bytes.size());
    for (std::size_t i = 0; i < packed.size(); ++i)
        EXPECT_EQ(std::to_integer<int>(packed[i]), example_bytes[i]) << "byte " << i;
}

TEST(RemoteRegion, FitsThePrivateDataOfAConnection)
{
    EXPECT_LE(RemoteRegion::packed_size, most_private_data);
}

TEST(RemoteRegion, ComesBackAsItWas)
{
    EXPECT_EQ(RemoteRegion::unpack(std::as_bytes(std::span{example_bytes})), example);
    for (const Access access :
         {Access::local_read, Access::remote_read, Access::remote_write | Access::remote_atomic}) {
        RemoteRegion region = example;
        region.access = access;
        EXPECT_EQ(RemoteRegion::unpack(region.pack()), region);
    }
}

TEST(RemoteRegion, MayBeFollowedByPadding)
{
    std::vector<std::byte> bytes = good_bytes();
    bytes.resize(most_private_data);
    EXPECT_EQ(RemoteRegion::unpack(bytes), example);
    bytes.back() = std::byte{0xff}; // whatever it is
    EXPECT_EQ(RemoteRegion::unpack(bytes), example);
}

TEST(RemoteRegion, CutShortIsRefused)
{
    const std::vector<std::byte> bytes = good_bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_NE(refusal(std::span{bytes}.first(length)), "") << length;
}

TEST(RemoteRegion, WithAnyOneBitFlippedIsRefused)
{
    for (std::size_t bit = 0; bit < 8 * RemoteRegion::packed_size; ++bit) {
        std::vector<std::byte> bytes = good_bytes();
        bytes[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_NE(refusal(bytes), "") << "bit " << bit;
    }
}

TEST(RemoteRegion, OfAnotherVersionIsRefusedAsThat)
{
    EXPECT_THAT(refusal(with(4, {2})), HasSubstr("version"));
    EXPECT_THAT(refusal(with(4, {0})), HasSubstr("version"));
}

TEST(RemoteRegion, ThatIsNoneIsRefused)
{
    EXPECT_THAT(refusal(with(0, {0, 0, 0, 0})), HasSubstr("first word"));
    EXPECT_NE(refusal(std::vector<std::byte>(most_private_data)), "");
}

TEST(RemoteRegion, OfAPageSizeThatThereIsNotIsRefused)
{
    EXPECT_THAT(refusal(with(5, {11})), HasSubstr("page shift"));
    EXPECT_THAT(refusal(with(5, {64})), HasSubstr("page shift"));
    EXPECT_EQ(refusal(with(5, {12})), "");
    EXPECT_EQ(refusal(with(5, {63})), "");
}

TEST(RemoteRegion, WithRightsThatAreNotAPeersIsRefused)
{
    const auto local_write = static_cast<int>(Access::local_write);
    EXPECT_THAT(refusal(with(6, {0, local_write})), HasSubstr("rights"));
    EXPECT_THAT(refusal(with(6, {0, 1 << 4})), HasSubstr("rights"));
    EXPECT_THAT(refusal(with(6, {0x80, 0})), HasSubstr("rights"));
    EXPECT_EQ(refusal(with(6, {0, static_cast<int>(example.access | Access::remote_atomic)})), "");
}

TEST(RemoteRegion, ThatIsEmptyOrWrapsIsRefused)
{
    EXPECT_THAT(refusal(with(16, {0, 0, 0, 0, 0, 0, 0, 0})), HasSubstr("wrap"));
    RemoteRegion last = example; // up to the very last byte of the key's space
    last.iova = Iova{~std::uint64_t{0} - 4095};
    last.length = 4096;
    EXPECT_EQ(RemoteRegion::unpack(last.pack()), last);
    ++last.length;
    EXPECT_THAT(refusal(last.pack()), HasSubstr("wrap"));
}

TEST(RemoteRegion, LeavesWhatIsReservedToLaterLibraries)
{
    EXPECT_EQ(RemoteRegion::unpack(with(36, {1, 2, 3, 4, 5, 6, 7, 8})), example);
}

class RemoteRegionOfARegion : public testing::Test {
  protected:
    void SetUp() override { script() = {}; }

    static constexpr Access rights = Access::local_write | Access::remote_read | Access::remote_atomic;
    std::vector<std::byte> memory = std::vector<std::byte>(100'000);
    Domain domain = Domain::open("soft");
};

TEST_F(RemoteRegionOfARegion, SaysWhatAPeerNeedsAndOnlyThat)
{
    const Region region = domain.register_memory(std::span{memory}.subspan(77, 9999), rights);
    const RemoteRegion remote = region.remote();
    EXPECT_EQ(remote.iova, region.iova());
    EXPECT_EQ(remote.length, 9999U);
    EXPECT_EQ(remote.rkey, region.rkey());
    EXPECT_EQ(remote.access, Access::remote_read | Access::remote_atomic); // what is local is nobody else's
    EXPECT_EQ(remote.page_shift, region.plan().keys.front().page_shift);
}

TEST_F(RemoteRegionOfARegion, HasTheRegionsOwnIova)
{
    const Iova iova{0x5000'0000'0000 + reinterpret_cast<std::uintptr_t>(memory.data()) % 4096};
    EXPECT_EQ(domain.register_memory(memory, rights, {.iova = iova}).remote().iova, iova);
}

TEST_F(RemoteRegionOfARegion, IsNewerTheLaterItsKeyWasIssued)
{
    Region first = domain.register_memory(memory, rights);
    const Region second = domain.register_memory(memory, rights);
    EXPECT_LT(first.remote().generation, second.remote().generation);
    EXPECT_EQ(first.remote(), first.remote());
    EXPECT_LT(second.remote().generation, first.reissue().generation);
}

TEST_F(RemoteRegionOfARegion, IsRefusedWhereNoRightIsRemote)
{
    Region region = domain.register_memory(memory, Access::local_write);
    const std::vector<std::function<void()>> calls{[&] { static_cast<void>(region.remote()); },
                                                   [&] { static_cast<void>(region.reissue()); }};
    for (const auto& call : calls) {
        try {
            call();
            ADD_FAILURE() << "not refused";
        } catch (const Error& error) {
            EXPECT_EQ(error.error_number(), EACCES);
            EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        }
    }
}

TEST_F(RemoteRegionOfARegion, ReissuedDiffersInItsKeyAndIsOtherwiseTheSame)
{
    Region region = domain.register_memory(memory, rights);
    const RemoteRegion before = region.remote();
    const LKey lkey = region.lkey();
    RemoteRegion after = region.reissue();
    EXPECT_EQ(after, region.remote());
    EXPECT_NE(after.rkey, before.rkey);
    EXPECT_EQ(after.rkey, region.rkey());
    EXPECT_EQ(region.lkey(), lkey);
    after.rkey = before.rkey;
    after.generation = before.generation;
    EXPECT_EQ(after, before);
}

TEST_F(RemoteRegionOfARegion, ThatCannotBeReissuedStaysAsItIs)
{
    script().reissues = false;
    Region region = domain.register_memory(memory, rights);
    const RemoteRegion before = region.remote();
    try {
        static_cast<void>(region.reissue());
        ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), ENOTSUP);
        EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
    }
    EXPECT_EQ(region.remote(), before);
}

} // namespace
} // namespace mrz::test

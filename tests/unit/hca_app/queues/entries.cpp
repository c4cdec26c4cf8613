// SPDX-License-Identifier: BSD-3-Clause
#include "guest.hpp"

#include "queues/send_entry.hpp"
#include "queues/umr.hpp"

namespace mrz::queues {
namespace {

using layouts::WqeOpcode;

TEST(SendEntries, HaveTheirDataInlineOrInPiecesButNotBoth)
{
    const Bytes data(37, std::byte{0x5a});
    Bytes entry;
    append_control(entry, WqeOpcode::rdma_write);
    append_remote(entry, 0x1234, 99);
    append_inline(entry, std::span{data}.first(20));
    append_inline(entry, std::span{data}.subspan(20));
    SendEntry decoded;
    decode(ended(entry), QpKind::rc, decoded);
    ASSERT_EQ(decoded.kind, SendEntry::Kind::request) << decoded.why;
    EXPECT_TRUE(decoded.signaled);
    EXPECT_EQ(decoded.request.remote_address, Iova{0x1234});
    EXPECT_EQ(decoded.request.rkey.value, 99u);
    EXPECT_TRUE(std::ranges::equal(decoded.request.inline_bytes, data));
    append_piece(entry, 0, 1, 1);
    decode(ended(entry), QpKind::rc, decoded);
    EXPECT_EQ(decoded.kind, SendEntry::Kind::bad);
}

TEST(SendEntries, AreBadWhereTheyAreCutOff)
{
    Bytes entry;
    append_control(entry, WqeOpcode::atomic_cs);
    append_remote(entry, 0, 0);
    append(entry, {}, layouts::wqe_atomic_seg::bytes);
    append_piece(entry, 0, 8, 1);
    SendEntry decoded;
    decode(entry, QpKind::rc, decoded);
    EXPECT_EQ(decoded.kind, SendEntry::Kind::request);
    for (const std::size_t bytes : {0U, 16U, 32U}) {
        decode(std::span{entry}.first(bytes), QpKind::rc, decoded);
        EXPECT_EQ(decoded.kind, SendEntry::Kind::bad) << bytes;
    }
    Bytes inlined;
    append_control(inlined, WqeOpcode::send);
    append(inlined, {{{0, 32}, 0x80000000U + 60}}, 16); // its data would lie behind its end
    decode(inlined, QpKind::rc, decoded);
    EXPECT_EQ(decoded.kind, SendEntry::Kind::bad);
}

TEST(SendEntries, AreOfTheirKindOfQueuePair)
{
    SendEntry decoded;
    const auto kind_of = [&decoded](WqeOpcode opcode, QpKind kind) {
        Bytes entry;
        append_control(entry, opcode);
        append(entry, {}, 112);
        decode(entry, kind, decoded);
        return decoded.kind;
    };
    using Kind = SendEntry::Kind;
    EXPECT_EQ(kind_of(WqeOpcode::rdma_write, QpKind::ud), Kind::bad);
    EXPECT_EQ(kind_of(WqeOpcode::send, QpKind::ud), Kind::request);
    EXPECT_EQ(kind_of(WqeOpcode::send, QpKind::umr), Kind::bad);
    EXPECT_EQ(kind_of(WqeOpcode::umr, QpKind::umr), Kind::key_change);
    EXPECT_EQ(kind_of(WqeOpcode::umr, QpKind::ud), Kind::bad);
    EXPECT_EQ(kind_of(WqeOpcode::nop, QpKind::ud), Kind::nothing);
    EXPECT_EQ(kind_of(WqeOpcode::send_inval, QpKind::rc), Kind::bad);
}

TEST(SendEntries, FenceByTheirMode)
{
    SendEntry decoded;
    for (const auto& [mode, fence] : {std::pair{0U, false}, {1U, false}, {2U, true}, {3U, true}, {4U, true}}) {
        Bytes entry;
        append_control(entry, WqeOpcode::send, true, 0, mode << 5);
        decode(entry, QpKind::rc, decoded);
        EXPECT_EQ(hca::has(decoded.request.flags, hca::SendFlags::fence), fence) << mode;
    }
}

class UmrEntries : public ::testing::Test {
  protected:
    static Bytes begun(std::uint32_t key, unsigned flags, unsigned units, std::uint64_t mask)
    {
        namespace umr = layouts::wqe_umr_ctrl_seg;
        Bytes entry;
        append_control(entry, WqeOpcode::umr, true, key);
        append(entry, {{umr::flags, flags}, {umr::xlt_octowords, units}, {umr::mkey_mask, mask}}, umr::bytes);
        append(entry, {{layouts::mkey_seg::len, 0x5000}}, layouts::mkey_seg::bytes);
        return entry;
    }
};

TEST_F(UmrEntries, SayWhatIsToBeChanged)
{
    Bytes entry = begun(0x12345, layouts::umr_inline | layouts::umr_fail_if_not_free, 2, 0x41);
    append(entry, {{{0, 64}, 0x1000}, {{64, 64}, 0x2000}}, 16);
    append(entry, {{{0, 64}, 0x3000}}, 16);
    const UmrEntry decoded = decode_umr(entry);
    EXPECT_TRUE(decoded.why.empty()) << decoded.why;
    EXPECT_EQ(decoded.change.index, 0x123u);
    EXPECT_EQ(decoded.change.expect, firmware::KeyChange::Expect::free);
    EXPECT_EQ(decoded.change.mask, 0x41u);
    EXPECT_EQ(layouts::get(decoded.change.mkc, layouts::mkey_seg::len), 0x5000u);
    EXPECT_FALSE(decoded.source);
    ASSERT_EQ(decoded.translations.size(), 32u);
    EXPECT_EQ(layouts::get(decoded.translations, {128, 64}), 0x3000u);
}

TEST_F(UmrEntries, PointToLongerLists)
{
    Bytes entry = begun(0x100, layouts::umr_fail_if_free | layouts::umr_translation_offset, 100, 0);
    layouts::set(entry, layouts::shifted(layouts::wqe_umr_ctrl_seg::xlt_offset, 16), 0x34);
    layouts::set(entry, layouts::shifted(layouts::wqe_umr_ctrl_seg::xlt_offset_47_16, 16), 0x12);
    append_piece(entry, 0x7000, 1600, 0x88);
    const UmrEntry decoded = decode_umr(entry);
    EXPECT_TRUE(decoded.why.empty()) << decoded.why;
    EXPECT_EQ(decoded.change.expect, firmware::KeyChange::Expect::not_free);
    EXPECT_EQ(decoded.change.translation_offset, 0x120034u);
    ASSERT_TRUE(decoded.source);
    EXPECT_EQ(decoded.source->length, 1600u);
    EXPECT_EQ(decoded.translations.size(), 1600u);
}

TEST_F(UmrEntries, AreRefusedWhereSomethingIsMissing)
{
    const Bytes whole = begun(0x100, layouts::umr_inline, 1, 0);
    EXPECT_FALSE(decode_umr(whole).why.empty()) << "no translation follows";
    EXPECT_FALSE(decode_umr(std::span{whole}.first(64)).why.empty());
    Bytes short_list = begun(0x100, 0, 4, 0);
    append_piece(short_list, 0x7000, 63, 0x88);
    EXPECT_FALSE(decode_umr(short_list).why.empty());
    Bytes signature = begun(0x100, layouts::umr_inline, 0, 0);
    layouts::set(signature, layouts::shifted(layouts::wqe_umr_ctrl_seg::xlt_offset, 16), 4);
    EXPECT_FALSE(decode_umr(signature).why.empty());
}

} // namespace
} // namespace mrz::queues

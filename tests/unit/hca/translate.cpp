// SPDX-License-Identifier: BSD-3-Clause
#include <hca/translate.hpp>

#include "memory.hpp"
#include "plain_translation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace mrz;
using namespace mrz::hca;

namespace {

constexpr KeyRights local_both = KeyRights::local_read | KeyRights::local_write;

class Translate : public ::testing::Test {
  protected:
    Violation translate(Mkey key, std::uint64_t at, std::uint64_t length, KeyRights needs = KeyRights::local_read)
    {
        segments.clear();
        return translator.translate({key, Iova{at}, length, needs, pd}, segments);
    }
    Mkey pages(std::uint64_t start, std::uint64_t length, unsigned shift, std::vector<std::uint64_t> frames,
               KeyRights rights = local_both)
    {
        MkeySpec spec;
        spec.pd = pd;
        spec.rights = rights;
        spec.start = Iova{start};
        spec.length = length;
        spec.page_shift = shift;
        for (const std::uint64_t frame : frames)
            spec.pages.emplace_back(frame << shift);
        return keys.create(spec);
    }
    Mkey pieces(KeyMode mode, std::uint64_t start, std::uint64_t length, std::vector<IndirectEntry> entries,
                KeyRights rights = all_rights, unsigned shift = 12)
    {
        MkeySpec spec;
        spec.mode = mode;
        spec.pd = pd;
        spec.rights = rights;
        spec.start = Iova{start};
        spec.length = length;
        spec.page_shift = shift;
        spec.entries = std::move(entries);
        return keys.create(spec);
    }
    // First byte, last byte, all; one before, one past, wrapping, all and one.
    void expect_bounds(Mkey key, std::uint64_t start, std::uint64_t length)
    {
        EXPECT_EQ(translate(key, start, 1), Violation::none);
        EXPECT_EQ(translate(key, start + length - 1, 1), Violation::none);
        EXPECT_EQ(translate(key, start, length), Violation::none);
        EXPECT_EQ(translate(key, start - 1, 1), Violation::bounds);
        EXPECT_EQ(translate(key, start - 1, 2), Violation::bounds);
        EXPECT_EQ(translate(key, start + length, 1), Violation::bounds);
        EXPECT_EQ(translate(key, start + length - 1, 2), Violation::bounds);
        EXPECT_EQ(translate(key, start, length + 1), Violation::bounds);
        EXPECT_EQ(translate(key, start, ~0ULL), Violation::bounds);
        EXPECT_EQ(translate(key, start + 1, ~0ULL), Violation::bounds) << "wraps around to the start";
        EXPECT_EQ(translate(key, ~0ULL, start + 2), Violation::bounds) << "wraps around into the key";
        EXPECT_TRUE(segments.empty());
        EXPECT_EQ(translate(key, start - 1, 0), Violation::none) << "no bytes";
        EXPECT_TRUE(segments.empty());
    }

    const Pd pd{1};
    KeyTable keys{{}};
    Cache mpt{{4, 2}};
    Cache mtt{{8, 2}};
    Translator translator{keys, mpt, mtt};
    std::vector<DmaSegment> segments;
};

using Segments = std::vector<DmaSegment>;

} // namespace

TEST_F(Translate, PagesMergeWhereTheyAreNeighbours)
{
    const Mkey key = pages(0x10800, 0x3000, 12, {5, 6, 9, 8});
    EXPECT_EQ(translate(key, 0x10800, 0x3000), Violation::none);
    EXPECT_EQ(segments,
              (Segments{{DmaAddress{0x5800}, 0x1800}, {DmaAddress{0x9000}, 0x1000}, {DmaAddress{0x8000}, 0x800}}));
    expect_bounds(key, 0x10800, 0x3000);
}

TEST_F(Translate, AnyPageShiftWorks)
{
    for (const unsigned shift : {12U, 21U, 30U, 31U, 32U, 40U, 62U}) {
        const std::uint64_t page = 1ULL << shift;
        const Mkey key = pages(page - 16, 32, shift, {0, 1});
        EXPECT_EQ(translate(key, page - 16, 32), Violation::none);
        EXPECT_EQ(segments, (Segments{{DmaAddress{page - 16}, 32}})) << shift;
        expect_bounds(key, page - 16, 32);
    }
    const Mkey half = pages(1ULL << 63, 1ULL << 63, 63, {0});
    EXPECT_EQ(translate(half, ~0ULL, 1), Violation::none);
    EXPECT_EQ(segments, (Segments{{DmaAddress{(1ULL << 63) - 1}, 1}}));
    EXPECT_EQ(translate(half, ~0ULL, 2), Violation::bounds);
}

TEST_F(Translate, AnEntryMayCoverMoreThanTheKey)
{
    const Mkey key = pages(0x1010, 16, 30, {3});
    EXPECT_EQ(translate(key, 0x1010, 16), Violation::none);
    EXPECT_EQ(segments, (Segments{{DmaAddress{(3ULL << 30) + 0x1010}, 16}}));
    expect_bounds(key, 0x1010, 16);
}

TEST_F(Translate, APhysicalKeyIsTheAddressItself)
{
    MkeySpec spec;
    spec.mode = KeyMode::pa;
    spec.pd = pd;
    spec.rights = local_both;
    spec.start = Iova{0x4000};
    spec.length = 0x100;
    const Mkey key = keys.create(spec);
    EXPECT_EQ(translate(key, 0x4010, 0x20), Violation::none);
    EXPECT_EQ(segments, (Segments{{DmaAddress{0x4010}, 0x20}}));
    expect_bounds(key, 0x4000, 0x100);
}

TEST_F(Translate, TheNullKeyHasNoMemory)
{
    MkeySpec spec;
    spec.mode = KeyMode::null;
    spec.every_pd = true;
    spec.rights = local_both;
    spec.length = ~0ULL;
    const Mkey key = keys.create(spec);
    EXPECT_EQ(translate(key, 0x1234, 0x5678, local_both), Violation::none);
    EXPECT_EQ(segments, (Segments{{DmaAddress{}, 0x5678, true}}));
}

TEST_F(Translate, APrivilegedKeyIsForWhoIsPrivileged)
{
    MkeySpec spec;
    spec.mode = KeyMode::pa;
    spec.every_pd = true;
    spec.privileged = true;
    spec.rights = local_both;
    spec.length = ~0ULL;
    const Mkey all = keys.create(spec);
    const Mkey over_it = pieces(KeyMode::klm, 0, 0x100, {{all, Iova{0x5000}, 0x100}});
    for (const Mkey key : {all, over_it}) {
        EXPECT_EQ(translate(key, 0x10, 0x20), Violation::domain);
        segments.clear();
        EXPECT_EQ(translator.translate({key, Iova{0x10}, 0x20, KeyRights::local_read, pd, true}, segments),
                  Violation::none);
        EXPECT_EQ(segments.size(), 1U);
    }
}

TEST_F(Translate, PiecesOfAnyLengths)
{
    const Mkey a = pages(0x1000, 0x1000, 12, {7});
    const Mkey b = pages(0, 0x2000, 12, {20, 30});
    const Mkey key = pieces(KeyMode::klm, 0x100, 13, {{a, Iova{0x1ffd}, 3}, {b, Iova{0}, 0}, {b, Iova{0xffe}, 10}});
    EXPECT_EQ(translate(key, 0x100, 13), Violation::none);
    EXPECT_EQ(segments, (Segments{{DmaAddress{0x7ffd}, 3}, {DmaAddress{0x14ffe}, 2}, {DmaAddress{0x1e000}, 8}}));
    const std::uint64_t looked_up = mtt.counts().hits + mtt.counts().misses;
    EXPECT_EQ(translate(key, 0x103, 1), Violation::none);
    EXPECT_EQ(mtt.counts().hits + mtt.counts().misses, looked_up + 2) << "one piece, one page";
    EXPECT_EQ(segments, (Segments{{DmaAddress{0x14ffe}, 1}})) << "an entry of no bytes is passed over";
    expect_bounds(key, 0x100, 13);
}

TEST_F(Translate, PiecesOfOnePowerOfTwo)
{
    const Mkey a = pages(0, 0x4000, 12, {1, 3, 5, 7});
    const Mkey key = pieces(KeyMode::ksm, 0x1f00, 0x1200, {{a, Iova{0x3000}}, {a, Iova{0x800}}, {a, Iova{0}}});
    EXPECT_EQ(translate(key, 0x1f00, 0x1200), Violation::none);
    EXPECT_EQ(segments, (Segments{{DmaAddress{0x7f00}, 0x100},
                                  {DmaAddress{0x1800}, 0x800},
                                  {DmaAddress{0x3000}, 0x800},
                                  {DmaAddress{0x1000}, 0x100}}));
    expect_bounds(key, 0x1f00, 0x1200);
}

TEST_F(Translate, BoundsHoldAtEveryLevel)
{
    const Mkey bottom = pages(0x1000, 0x100, 12, {7});
    const Mkey middle = pieces(KeyMode::klm, 0, 0x102, {{bottom, Iova{0x1000}, 0x101}, {bottom, Iova{0xfff}, 1}});
    const Mkey top = pieces(KeyMode::klm, 0x5000, 0x103, {{middle, Iova{0}, 0x103}});
    EXPECT_EQ(translate(top, 0x5000, 0x100), Violation::none);
    EXPECT_EQ(translate(top, 0x5000, 0x101), Violation::bounds) << "one past the bottom";
    EXPECT_EQ(translate(top, 0x5101, 1), Violation::bounds) << "one before the bottom";
    EXPECT_EQ(translate(top, 0x5102, 1), Violation::bounds) << "one past the middle";
    EXPECT_EQ(translate(top, 0x5103, 1), Violation::bounds) << "one past the top";
    EXPECT_EQ(translate(top, 0x4fff, 1), Violation::bounds);
}

TEST_F(Translate, RightsHoldAtEveryLevel)
{
    const Mkey read_only = pages(0, 0x1000, 12, {7}, KeyRights::local_read);
    const Mkey writable = pages(0, 0x1000, 12, {8}, local_both);
    const Mkey for_peers = pages(0, 0x1000, 12, {9}, KeyRights::remote_read | KeyRights::remote_write);
    const Mkey over_read_only = pieces(KeyMode::klm, 0, 16, {{read_only, Iova{0}, 16}});
    const Mkey over_writable = pieces(KeyMode::klm, 0, 16, {{writable, Iova{0}, 16}});
    const Mkey over_peers = pieces(KeyMode::klm, 0, 16, {{for_peers, Iova{0}, 16}});
    const Mkey narrow = pieces(KeyMode::klm, 0, 16, {{writable, Iova{0}, 16}}, KeyRights::remote_read);
    EXPECT_EQ(translate(over_read_only, 0, 16, KeyRights::remote_read), Violation::none);
    EXPECT_EQ(translate(over_read_only, 0, 16, KeyRights::remote_write), Violation::rights);
    EXPECT_EQ(translate(over_read_only, 0, 8, KeyRights::remote_atomic), Violation::rights);
    EXPECT_EQ(translate(over_writable, 0, 16, KeyRights::remote_write), Violation::none);
    EXPECT_EQ(translate(over_writable, 0, 8, KeyRights::remote_atomic), Violation::none);
    EXPECT_EQ(translate(over_peers, 0, 16, KeyRights::remote_read), Violation::rights);
    EXPECT_EQ(translate(narrow, 0, 16, KeyRights::remote_read), Violation::none);
    EXPECT_EQ(translate(narrow, 0, 16, KeyRights::local_read), Violation::rights);
}

TEST_F(Translate, EachRightIsApart)
{
    const KeyRights single[] = {KeyRights::local_read, KeyRights::local_write, KeyRights::remote_read,
                                KeyRights::remote_write, KeyRights::remote_atomic};
    for (const KeyRights granted : single) {
        const Mkey key = pages(0, 16, 12, {1}, granted);
        for (const KeyRights needed : single)
            EXPECT_EQ(translate(key, 0, 8, needed), granted == needed ? Violation::none : Violation::rights);
    }
}

TEST_F(Translate, DomainsAreChecked)
{
    const Mkey key = pages(0, 16, 12, {1});
    segments.clear();
    EXPECT_EQ(translator.translate({key, Iova{0}, 1, KeyRights::local_read, Pd{2}}, segments), Violation::domain);
    MkeySpec spec;
    spec.mode = KeyMode::klm;
    spec.pd = Pd{2};
    spec.rights = all_rights;
    spec.length = 16;
    spec.entries = {{key, Iova{0}, 16}};
    const Mkey over = keys.create(spec);
    EXPECT_EQ(translator.translate({over, Iova{0}, 1, KeyRights::local_read, Pd{2}}, segments), Violation::domain)
        << "the key below is of another domain";
}

TEST_F(Translate, StaleKeysAreKnown)
{
    const Mkey key = pages(0, 16, 12, {1});
    EXPECT_EQ(translate(Mkey{0}, 0, 1), Violation::no_key);
    EXPECT_EQ(translate(make_mkey(0xffffff, 0), 0, 1), Violation::no_key);
    EXPECT_EQ(translate(Mkey{key.value ^ 1}, 0, 1), Violation::variant);
    const Mkey again = keys.reissue(key);
    EXPECT_EQ(translate(key, 0, 1), Violation::variant);
    EXPECT_EQ(translate(again, 0, 1), Violation::none);
    keys.invalidate(again);
    EXPECT_EQ(translate(again, 0, 1), Violation::no_key);
    keys.destroy(again);
    EXPECT_EQ(translate(again, 0, 1), Violation::no_key);
}

TEST_F(Translate, KeysThatLeadToThemselvesEnd)
{
    const Mkey free_key = keys.create_free(pd);
    MkeySpec spec;
    spec.mode = KeyMode::klm;
    spec.pd = pd;
    spec.rights = all_rights;
    spec.length = 16;
    spec.entries = {{free_key, Iova{0}, 16}};
    const Mkey key = keys.fill(free_key, spec);
    EXPECT_EQ(translate(key, 0, 1), Violation::nesting);
}

TEST_F(Translate, TooManyPiecesAreRefused)
{
    const Mkey bytes = pages(0, 3, 12, {1});
    std::vector<IndirectEntry> alternating(4096);
    for (std::size_t i = 0; i < alternating.size(); ++i)
        alternating[i] = {bytes, Iova{i % 2 * 2}, 1};
    const Mkey inner = pieces(KeyMode::klm, 0, 4096, alternating);
    const Mkey outer = pieces(KeyMode::klm, 0, 257 * 4096, std::vector<IndirectEntry>(257, {inner, Iova{0}, 4096}));
    EXPECT_EQ(translate(outer, 0, Translator::max_segments), Violation::none);
    EXPECT_EQ(segments.size(), Translator::max_segments);
    EXPECT_EQ(translate(outer, 0, Translator::max_segments + 1), Violation::scattered);
    EXPECT_TRUE(segments.empty());
    EXPECT_EQ(local_status(Violation::scattered), WcStatus::local_qp_operation_error);
    EXPECT_EQ(remote_status(Violation::scattered), WcStatus::remote_operation_error);
}

// Each level asks the next for the same two bytes again and again, between which it has pieces of none: 2^40 pieces.
TEST_F(Translate, KeysOverKeysDoNotMakeOneUseLastForHours)
{
    constexpr std::size_t many = 1 << 10;
    const auto over = [this](Mkey key, std::uint64_t each) {
        std::vector<IndirectEntry> entries(many, {key, Iova{0}, 0});
        for (std::size_t i = 0; i < many; i += 2)
            entries[i].length = each;
        return pieces(KeyMode::klm, 0, many / 2 * each, entries);
    };
    MkeySpec null;
    null.mode = KeyMode::null;
    null.pd = pd;
    null.rights = all_rights;
    null.length = 1;
    Mkey key = keys.create(null);
    std::uint64_t bytes = 1;
    for (unsigned level = 0; level < keys.limits().max_nesting; ++level, bytes *= many / 2)
        key = over(key, bytes);
    EXPECT_EQ(translate(key, 0, std::uint64_t{1} << 31), Violation::scattered);
    EXPECT_TRUE(segments.empty());
    EXPECT_EQ(translate(key, 0, std::uint64_t{1} << 20), Violation::none);
    EXPECT_EQ(segments, (Segments{{DmaAddress{}, std::uint64_t{1} << 20, true}}));
}

TEST_F(Translate, ARefusalLeavesWhatWasThere)
{
    const Mkey key = pages(0x1000, 0x1000, 12, {7});
    segments.clear();
    ASSERT_EQ(translator.translate({key, Iova{0x1000}, 16, KeyRights::local_read, pd}, segments), Violation::none);
    const Segments before = segments;
    const Mkey over = pieces(KeyMode::klm, 0, 0x2000, {{key, Iova{0x1010}, 16}, {key, Iova{0x1ff0}, 0x1ff0}});
    EXPECT_EQ(translator.translate({over, Iova{0}, 64, KeyRights::local_read, pd}, segments), Violation::bounds);
    EXPECT_EQ(segments, before) << "the first piece would have merged with it";
}

TEST_F(Translate, CachesSeeEveryEntryUsed)
{
    const Mkey key = pages(0, 0x4000, 12, {0, 1, 2, 3});
    EXPECT_EQ(translate(key, 0, 0x4000), Violation::none);
    EXPECT_EQ(mpt.counts().misses, 1u);
    EXPECT_EQ(mtt.counts().misses, 4u);
    EXPECT_EQ(translate(key, 0x1800, 0x1000), Violation::none);
    EXPECT_EQ(mpt.counts().hits, 1u);
    EXPECT_EQ(mtt.counts().hits, 2u);
    const Mkey over = pieces(KeyMode::klm, 0, 16, {{key, Iova{0}, 16}});
    EXPECT_EQ(translate(over, 0, 16), Violation::none);
    EXPECT_EQ(mpt.counts().misses, 2u) << "the key above; that below is there";
    EXPECT_EQ(mtt.counts().misses, 5u) << "its piece";
    EXPECT_EQ(mtt.counts().hits, 3u);
}

TEST_F(Translate, ViolationsBecomeStatuses)
{
    EXPECT_EQ(local_status(Violation::none), WcStatus::success);
    EXPECT_EQ(remote_status(Violation::none), WcStatus::success);
    for (const Violation violation : {Violation::no_key, Violation::variant, Violation::domain, Violation::rights,
                                      Violation::bounds, Violation::nesting}) {
        EXPECT_EQ(local_status(violation), WcStatus::local_protection_error);
        EXPECT_EQ(remote_status(violation), WcStatus::remote_access_error);
    }
}

// Random tables, each use compared with a translation that goes byte by byte.
TEST_F(Translate, AgreesWithAPlainModel)
{
    std::mt19937_64 random{20240611};
    const auto below = [&random](std::uint64_t limit) { return random() % limit; };
    unsigned granted = 0;
    unsigned refused = 0;
    for (int table = 0; table < 200; ++table) {
        KeyTable tables{{.max_nesting = 2}};
        const Translator under_test{tables, mpt, mtt};
        std::vector<Mkey> made = {Mkey{0x4242}};
        for (int i = 0; i < 12; ++i) {
            MkeySpec spec;
            spec.mode = static_cast<KeyMode>(below(5));
            spec.pd = Pd{static_cast<std::uint32_t>(below(8) == 0)};
            spec.every_pd = below(8) == 0;
            spec.privileged = below(8) == 0;
            spec.rights = static_cast<KeyRights>(random() | (below(4) != 0 ? 31 : 0)) & all_rights;
            spec.start = Iova{below(0x3000)};
            spec.length = 1 + below(0x3000);
            for (int page = 0; page < 6 && spec.mode == KeyMode::mtt; ++page)
                spec.pages.emplace_back(below(16) << 12);
            for (int piece = 0; piece < 6 && (spec.mode == KeyMode::klm || spec.mode == KeyMode::ksm); ++piece)
                spec.entries.push_back({made[below(made.size())], Iova{below(0x1800)}, below(0x1000)});
            try {
                made.push_back(tables.create(spec));
            } catch (const Error&) {
                continue;
            }
            if (below(10) == 0)
                tables.invalidate(made.back());
        }
        for (int use = 0; use < 100; ++use) {
            const KeyUse wanted{made[below(made.size())],
                                Iova{below(0x7000)},
                                below(0x900),
                                static_cast<KeyRights>(1U << below(5)),
                                Pd{0},
                                below(2) == 0};
            const PlainTranslation plain = translate_plainly(tables, wanted);
            segments.clear();
            const Violation violation = under_test.translate(wanted, segments);
            ASSERT_EQ(violation == Violation::none, plain.granted);
            ASSERT_EQ(segments, plain.segments);
            ++(plain.granted ? granted : refused);
        }
    }
    EXPECT_GT(granted, 1000u);
    EXPECT_GT(refused, 1000u);
}

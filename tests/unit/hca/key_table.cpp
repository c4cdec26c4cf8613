// SPDX-License-Identifier: BSD-3-Clause
#include <hca/key_table.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace mrz;
using namespace mrz::hca;

namespace {

MkeySpec pages_of(std::uint64_t start, std::uint64_t length, unsigned shift, std::size_t count)
{
    MkeySpec spec;
    spec.rights = KeyRights::local_read;
    spec.start = Iova{start};
    spec.length = length;
    spec.page_shift = shift;
    for (std::size_t i = 0; i < count; ++i)
        spec.pages.emplace_back(i << (shift < 64 ? shift : 0));
    return spec;
}

MkeySpec pieces_of(KeyMode mode, std::uint64_t start, std::uint64_t length, std::vector<IndirectEntry> entries)
{
    MkeySpec spec;
    spec.mode = mode;
    spec.start = Iova{start};
    spec.length = length;
    spec.entries = std::move(entries);
    return spec;
}

void expect_refused(int error, const std::string& words, const std::function<void()>& command)
{
    try {
        command();
        ADD_FAILURE() << "was not refused: " << words;
    } catch (const Error& refusal) {
        EXPECT_EQ(refusal.error_number(), error) << refusal.what();
        EXPECT_NE(std::string{refusal.what()}.find(words), std::string::npos) << refusal.what();
    }
}

} // namespace

TEST(KeyTable, AKeyIsAnIndexAndAVariant)
{
    KeyTable keys{{}};
    MkeySpec spec = pages_of(0x1000, 0x2000, 12, 2);
    spec.variant = 0x5a;
    const Mkey key = keys.create(spec);
    EXPECT_EQ(variant_of(key), 0x5a);
    EXPECT_NE(index_of(key), 0u);
    const MkeyInfo info = keys.query(key);
    EXPECT_EQ(info.mode, KeyMode::mtt);
    EXPECT_EQ(info.start, Iova{0x1000});
    EXPECT_EQ(info.length, 0x2000u);
    EXPECT_EQ(info.page_shift, 12u);
    EXPECT_EQ(info.entry_count, 2u);
    EXPECT_EQ(keys.size(), 1u);
    EXPECT_EQ(keys.translations(), 2u);
    keys.destroy(key);
    EXPECT_EQ(keys.size(), 0u);
    EXPECT_EQ(keys.translations(), 0u);
    expect_refused(ENOENT, "no such key", [&] { keys.destroy(key); });
}

TEST(KeyTable, VariantsAreNotPredictableAndDifferOnReuse)
{
    KeyTable keys{{.keys = 1}};
    std::set<std::uint8_t> seen;
    Mkey last{};
    for (int i = 0; i < 5000; ++i) {
        const Mkey key = keys.create(pages_of(0, 1, 12, 1));
        EXPECT_NE(key, last) << "the one index is used again, so only the variant tells the keys apart";
        seen.insert(variant_of(key));
        keys.destroy(key);
        last = key;
    }
    EXPECT_GT(seen.size(), 100u);
}

TEST(KeyTable, StaleKeysFindNothingWhileOtherIndicesAreVacant)
{
    KeyTable keys{{}};
    const auto create = [&keys] { return keys.create(pages_of(0, 1, 12, 1)); };
    (void)create(); // lives all the time
    const Mkey stale = create();
    keys.destroy(stale);
    for (std::size_t i = 1; i < KeyTable::resting_indices; ++i) {
        const Mkey other = create();
        ASSERT_NE(index_of(other), index_of(stale)) << i;
        ASSERT_EQ(keys.find(index_of(stale)), nullptr);
        keys.destroy(other);
    }
    // So many are vacant that it is its turn, which comes round once in as many keys.
    for (int turn = 0; turn < 3; ++turn) {
        const Mkey again = create();
        ASSERT_EQ(index_of(again), index_of(stale)) << "the table need not grow for ever";
        keys.destroy(again);
        for (std::size_t i = 1; i < KeyTable::resting_indices; ++i) {
            const Mkey other = create();
            ASSERT_NE(index_of(other), index_of(stale)) << i;
            keys.destroy(other);
        }
    }
}

TEST(KeyTable, IndicesAreUsedAgainInTheOrderInWhichTheyBecameVacant)
{
    KeyTable keys{{.keys = 5}};
    std::vector<Mkey> all;
    for (int i = 0; i < 5; ++i)
        all.push_back(keys.create_free({}));
    const std::vector<std::size_t> order = {3, 0, 4, 1};
    for (const std::size_t which : order)
        keys.destroy(all[which]);
    for (const std::size_t which : order)
        EXPECT_EQ(index_of(keys.create_free({})), index_of(all[which]));
    EXPECT_EQ(keys.query(all[2]).free, true);
}

TEST(KeyTable, ReissuingEndsTheOldKey)
{
    KeyTable keys{{}};
    const Mkey old = keys.create(pages_of(0, 1, 12, 1));
    for (int i = 0; i < 300; ++i) {
        const Mkey before = keys.reissue(old, variant_of(old));
        EXPECT_EQ(before, old);
        const Mkey key = keys.reissue(before);
        EXPECT_EQ(index_of(key), index_of(old));
        EXPECT_NE(key, old);
        expect_refused(ENOENT, "another variant byte", [&] { (void)keys.query(old); });
        EXPECT_EQ(keys.reissue(key, variant_of(old)), old);
    }
}

TEST(KeyTable, AFreeKeyIsTakenAndCanBeFilled)
{
    KeyTable keys{{}};
    const Mkey key = keys.create_free(Pd{3});
    EXPECT_TRUE(keys.query(key).free);
    EXPECT_EQ(keys.translations(), 0u);
    EXPECT_EQ(keys.fill(key, pages_of(0, 8192, 12, 2)), key);
    EXPECT_FALSE(keys.query(key).free);
    EXPECT_EQ(keys.translations(), 2u);
    MkeySpec other = pages_of(0, 4096, 12, 1);
    other.variant = static_cast<std::uint8_t>(variant_of(key) + 1);
    const Mkey renamed = keys.fill(key, other);
    EXPECT_EQ(variant_of(renamed), *other.variant);
    EXPECT_EQ(keys.translations(), 1u);
    expect_refused(EINVAL, "smallest length", [&] { keys.fill(renamed, pages_of(0, 0, 12, 1)); });
    EXPECT_EQ(keys.query(renamed).length, 4096u) << "a refused filling changes nothing";
    keys.invalidate(renamed);
    EXPECT_TRUE(keys.query(renamed).free);
    EXPECT_EQ(keys.translations(), 0u);
}

TEST(KeyTable, RefusesWhatDoesNotFitTogether)
{
    KeyTable keys{{.max_page_shift = 31}};
    const auto create = [&](MkeySpec spec) { return [&keys, spec] { (void)keys.create(spec); }; };
    expect_refused(EINVAL, "smallest page shift is 12, needed 11", create(pages_of(0, 1, 11, 1)));
    expect_refused(EINVAL, "largest page shift is 31, needed 32", create(pages_of(0, 1, 32, 1)));
    expect_refused(EINVAL, "smallest length", create(pages_of(0, 0, 12, 1)));
    expect_refused(EINVAL, "number of its entries of 4 KiB is 1, needed 2", create(pages_of(0xfff, 2, 12, 1)));
    expect_refused(EINVAL, "end of the address space", create(pages_of(~0ULL, 2, 12, 2)));
    EXPECT_NO_THROW((void)keys.create(pages_of(~0ULL, 1, 12, 1))) << "the last byte is one";

    MkeySpec crooked = pages_of(0, 4096, 12, 1);
    crooked.pages[0] = DmaAddress{0x800};
    expect_refused(EINVAL, "no multiple of the page size", create(crooked));
    MkeySpec incongruent = pages_of(0x1100, 16, 12, 1);
    incongruent.page_offset = 0x200;
    expect_refused(EINVAL, "the start's place in its page is 256, needed 512", create(incongruent));
    incongruent.page_offset = 0x100;
    EXPECT_NO_THROW((void)keys.create(incongruent));

    const Mkey inner = keys.create(pages_of(0, 8192, 12, 2));
    expect_refused(EINVAL, "bytes in its entries is 100, needed 101",
                   create(pieces_of(KeyMode::klm, 0, 101, {{inner, Iova{0}, 60}, {inner, Iova{0}, 40}})));
    expect_refused(EINVAL, "wraps around", create(pieces_of(KeyMode::klm, 0, 1, {{inner, Iova{~0ULL}, 2}})));
    expect_refused(EINVAL, "longer than the address space",
                   create(pieces_of(KeyMode::klm, 0, 1, {{inner, Iova{0}, ~0ULL}, {inner, Iova{0}, 1}})));
    expect_refused(EINVAL, "wraps around", create(pieces_of(KeyMode::ksm, 0, 1, {{inner, Iova{~0ULL}, 0}})));
    // A window must have an entry for the chunk that it begins in (facts of KSM keys).
    expect_refused(EINVAL, "entries of 4 KiB is 1, needed 2",
                   create(pieces_of(KeyMode::ksm, 0x1800, 4096, {{inner, Iova{0}, 0}})));
    MkeySpec odd = pages_of(0, 1, 12, 1);
    odd.mode = KeyMode::pa;
    expect_refused(EINVAL, "only an MTT key has pages", create(odd));
    EXPECT_EQ(keys.size(), 3u);
}

TEST(KeyTable, RefusesWhatIsTooMuch)
{
    KeyTable keys{{.keys = 3, .translations = 5}};
    const Mkey first = keys.create(pages_of(0, 3 * 4096, 12, 3));
    (void)keys.create(pages_of(0, 2 * 4096, 12, 2));
    expect_refused(ENOMEM, "translation entries is 5, needed 6", [&] { (void)keys.create(pages_of(0, 1, 12, 1)); });
    keys.fill(first, pages_of(0, 2 * 4096, 12, 3)); // as many as it gives up
    const Mkey third = keys.create_free({});
    expect_refused(ENOMEM, "the adapter's keys is 3, needed 4", [&] { (void)keys.create_free({}); });
    keys.destroy(third);
    EXPECT_NO_THROW((void)keys.create_free({}));
    expect_refused(EINVAL, "24-bit", [] { const KeyTable table{{.keys = 1U << 24}}; });
}

TEST(KeyTable, FollowsKeysOverKeysOnlySoDeep)
{
    KeyTable keys{{.max_nesting = 2}};
    Mkey key = keys.create(pages_of(0, 4096, 12, 1));
    for (unsigned level = 1; level <= 2; ++level) {
        key = keys.create(pieces_of(KeyMode::klm, 0, 4096, {{key, Iova{0}, 4096}}));
        EXPECT_EQ(keys.query(key).nesting, level);
    }
    expect_refused(ELOOP, "levels of keys that the adapter follows is 2, needed 3", [&] {
        (void)keys.create(pieces_of(KeyMode::klm, 0, 4096, {{key, Iova{0}, 4096}}));
    });
}

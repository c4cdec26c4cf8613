// SPDX-License-Identifier: BSD-3-Clause
#include "harness.hpp"

#include <array>

using namespace mrz;
using namespace mrz::firmware;
using namespace mrz::firmware::test;

namespace {

namespace l = mrz::layouts;
namespace in = mrz::layouts::create_mkey_in;
namespace mkc = mrz::layouts::mkc;

constexpr l::Field of_key(l::Field field)
{
    return l::inside(in::memory_key_mkey_entry, field);
}

class TheKeys : public TheFirmware {
  protected:
    void SetUp() override
    {
        begin();
        pd_ = make_pd();
    }

    //! A key of pages, as mlx5_ib makes it.
    std::vector<std::byte> pages_key(std::uint64_t start, std::uint64_t length, unsigned shift,
                                     const std::vector<std::uint64_t>& pages)
    {
        const std::size_t octwords = (pages.size() + 1) / 2;
        auto command = input(0x200, 0, 0, in::klm_pas_mtt.offset + 16 * octwords,
                             {{of_key(mkc::access_mode_1_0), 1},
                              {of_key(mkc::lr), 1},
                              {of_key(mkc::lw), 1},
                              {of_key(mkc::umr_en), 1},
                              {of_key(mkc::qpn), 0xffffff},
                              {of_key(mkc::mkey_7_0), 0x5a},
                              {of_key(mkc::pd), pd_},
                              {of_key(mkc::start_addr), start},
                              {of_key(mkc::len), length},
                              {of_key(mkc::log_page_size), shift},
                              {of_key(mkc::translations_octword_size), octwords},
                              {in::translations_octword_actual_size, octwords}});
        for (std::size_t i = 0; i < pages.size(); ++i)
            l::set(std::span{command}.subspan(in::klm_pas_mtt.offset + 8 * i), {0, 64}, pages[i]);
        return command;
    }
    //! A key that mlx5_ib keeps in its cache: free, with room for translations.
    std::uint32_t make_free(std::size_t octwords, std::uint64_t mode = 1)
    {
        const Answer answer = run(0x200,
                                  {{of_key(mkc::free), 1},
                                   {of_key(mkc::umr_en), 1},
                                   {of_key(mkc::access_mode_1_0), mode},
                                   {of_key(mkc::qpn), 0xffffff},
                                   {of_key(mkc::log_page_size), 12},
                                   {of_key(mkc::translations_octword_size), octwords}},
                                  in::klm_pas_mtt.offset);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return static_cast<std::uint32_t>(answer.get(l::create_mkey_out::mkey_index));
    }
    std::uint32_t make(const std::vector<std::byte>& command)
    {
        const Answer answer = run(command);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return static_cast<std::uint32_t>(answer.get(l::create_mkey_out::mkey_index));
    }
    Answer query(std::uint32_t index)
    {
        return run(0x201, {{l::query_mkey_in::mkey_index, index}}, 16, l::query_mkey_out::bytes);
    }
    static l::Field in_query(l::Field field) { return l::inside(l::query_mkey_out::memory_key_mkey_entry, field); }
    hca::MkeyInfo engine_key(std::uint32_t index, std::uint8_t variant)
    {
        return engine_.query_mkey(hca::make_mkey(index, variant));
    }
    std::uint32_t make_umem(std::uint16_t uid, unsigned shift, std::uint64_t offset,
                            const std::vector<std::uint64_t>& pages, std::uint64_t flags = 3)
    {
        namespace umem = l::umem;
        const std::size_t at = l::create_umem_in::umem.offset;
        auto command = input(0xa08, 0, uid, at + umem::mtt.offset + 8 * pages.size(),
                             {{l::shifted(umem::log_page_size, at), shift - 12},
                              {l::shifted(umem::page_offset, at), offset},
                              {l::shifted(umem::num_of_mtt, at), pages.size()}});
        for (std::size_t i = 0; i < pages.size(); ++i)
            l::set(std::span{command}.subspan(at + umem::mtt.offset + 8 * i), {0, 64}, pages[i] | flags);
        const Answer answer = run(command);
        EXPECT_EQ(answer.status, Status::ok) << log_;
        return static_cast<std::uint32_t>(answer.get(l::create_umem_out::umem_id));
    }
    std::vector<std::byte> umem_key(std::uint16_t uid, std::uint32_t umem, std::uint64_t offset, std::uint64_t start,
                                    std::uint64_t length, std::uint32_t pd)
    {
        return input(0x200, 0, uid, in::klm_pas_mtt.offset,
                     {{of_key(mkc::access_mode_1_0), 1},
                      {of_key(mkc::lr), 1},
                      {of_key(mkc::rw), 1},
                      {of_key(mkc::lw), 1},
                      {of_key(mkc::pd), pd},
                      {of_key(mkc::start_addr), start},
                      {of_key(mkc::len), length},
                      {in::mkey_umem_valid, 1},
                      {in::mkey_umem_id, umem},
                      {in::mkey_umem_offset, offset}});
    }

    std::uint32_t pd_ = 0;
};

TEST_F(TheKeys, OfPagesAreTheEnginesKeys)
{
    const std::uint32_t index = make(pages_key(0x7f0000001064, 0x2000, 12, {0x10000, 0x20000, 0x30000}));
    const hca::MkeyInfo info = engine_key(index, 0x5a);
    EXPECT_EQ(info.mode, hca::KeyMode::mtt);
    EXPECT_EQ(info.start, Iova{0x7f0000001064});
    EXPECT_EQ(info.length, 0x2000U);
    EXPECT_EQ(info.page_shift, 12U);
    EXPECT_EQ(info.entry_count, 3U) << "room for four is no fourth entry";
    EXPECT_EQ(info.rights, hca::KeyRights::local_read | hca::KeyRights::local_write);
    EXPECT_EQ(info.pd, hca::Pd{pd_});
}

TEST_F(TheKeys, AreShownAsTheyAre)
{
    const std::uint32_t index = make(pages_key(0x200000, 0x400000, 21, {0x400000, 0x800000}));
    const Answer answer = query(index);
    ASSERT_EQ(answer.status, Status::ok) << log_;
    EXPECT_EQ(answer.get(in_query(mkc::start_addr)), 0x200000U);
    EXPECT_EQ(answer.get(in_query(mkc::len)), 0x400000U);
    EXPECT_EQ(answer.get(in_query(mkc::log_page_size)), 21U);
    EXPECT_EQ(answer.get(in_query(mkc::pd)), pd_);
    const auto first = std::span{answer.out}.subspan(l::query_mkey_out::bsf0_klm0_pas_mtt0_1.offset);
    EXPECT_EQ(l::get(first, {0, 64}), 0x400000U);
    EXPECT_EQ(l::get(first, {64, 64}), 0x800000U);
}

TEST_F(TheKeys, OfTooFewPagesAreRefused)
{
    EXPECT_EQ(run(pages_key(0x1064, 0x2000, 12, {0x10000, 0x20000})).status, Status::bad_param);
    EXPECT_EQ(run(pages_key(0x200000, 0x200000, 21, {0x401000})).status, Status::bad_param) << "no page of 2 MiB";
    auto cut = pages_key(0x1000, 0x1000, 12, {0x10000});
    l::set(cut, in::translations_octword_actual_size, 9);
    EXPECT_EQ(run(cut).status, Status::bad_inp_len);
    auto more = pages_key(0x1000, 0x1000, 12, {0x10000, 0, 0});
    l::set(more, of_key(mkc::translations_octword_size), 1);
    EXPECT_EQ(run(more).status, Status::bad_param) << "more translations than there is room for";
    EXPECT_EQ(firmware_.context().objects.count(Kind::mkey), 0U);
}

TEST_F(TheKeys, ThatAreUsedUpExceedALimit)
{
    firmware_.keys().limit(2);
    const std::uint32_t first = make_free(4);
    make_free(4);
    const auto another = pages_key(0x10000, 0x1000, 12, {0x4000});
    EXPECT_EQ(run(another).status, Status::lim);
    EXPECT_EQ(run(0x202, {{l::destroy_mkey_in::mkey_index, first}}).status, Status::ok);
    EXPECT_EQ(run(another).status, Status::ok) << log_;
    firmware_.keys().limit(~0U);
    for (std::uint32_t made = 2; made < options().keys.keys - 2; ++made)
        make_free(0);
    EXPECT_EQ(run(another).status, Status::lim) << "two are the adapter's own";
}

TEST_F(TheKeys, AreOfADomainThatIsThere)
{
    auto command = pages_key(0x1000, 0x1000, 12, {0x10000});
    l::set(command, of_key(mkc::pd), pd_ + 1);
    EXPECT_EQ(run(command).status, Status::bad_res);
    const std::uint32_t index = make(pages_key(0x1000, 0x1000, 12, {0x10000}));
    EXPECT_EQ(run(0x801, {{l::dealloc_pd_in::pd, pd_}}).status, Status::res_busy);
    EXPECT_EQ(run(0x202, {{l::destroy_mkey_in::mkey_index, index}}).status, Status::ok) << log_;
    EXPECT_EQ(run(0x202, {{l::destroy_mkey_in::mkey_index, index}}).status, Status::bad_res);
    EXPECT_EQ(run(0x801, {{l::dealloc_pd_in::pd, pd_}}).status, Status::ok) << log_;
}

TEST_F(TheKeys, ThatAreNotModelledAreRefused)
{
    for (const auto& [field, value] : {std::pair{mkc::access_mode_4_2, 1U}, std::pair{mkc::bsf_en, 1U},
                                       std::pair{mkc::length64, 1U}, std::pair{mkc::qpn, 0x17U}}) {
        auto command = pages_key(0x1000, 0x1000, 12, {0x10000});
        l::set(command, of_key(field), value);
        EXPECT_EQ(run(command).status, Status::bad_param) << field.offset;
    }
}

TEST_F(TheKeys, OfAllPhysicalMemoryAreTheKernelsOnly)
{
    const Values all = {{of_key(mkc::lr), 1}, {of_key(mkc::length64), 1}, {of_key(mkc::pd), pd_}};
    const std::uint32_t index = make(input(0x200, 0, 0, in::klm_pas_mtt.offset, all));
    EXPECT_EQ(engine_key(index, 0).mode, hca::KeyMode::pa);

    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(uid);
    auto command = input(0x200, 0, uid, in::klm_pas_mtt.offset, all);
    l::set(command, of_key(mkc::pd), pd);
    EXPECT_EQ(run(command).status, Status::bad_param);
    auto pages = pages_key(0x1000, 0x1000, 12, {0x10000});
    l::set(pages, l::command_in::uid, uid);
    l::set(pages, of_key(mkc::pd), pd);
    EXPECT_EQ(run(pages).status, Status::bad_param) << "physical addresses from a process";
}

TEST_F(TheKeys, OverUmemsTakeTheirPages)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(uid);
    // 2-MiB pages; the memory begins 0x1000 bytes into the first.
    const std::uint32_t umem = make_umem(uid, 21, 0x1000, {0x400000, 0xa00000, 0x600000});
    const std::uint32_t index = make(umem_key(uid, umem, 0x200000, 0x10001000, 0x200000, pd));
    const Answer shown = query(index);
    EXPECT_EQ(shown.get(in_query(mkc::log_page_size)), 21U) << "the umem's";
    const auto first = std::span{shown.out}.subspan(l::query_mkey_out::bsf0_klm0_pas_mtt0_1.offset);
    EXPECT_EQ(l::get(first, {0, 64}), 0xa00000U);
    EXPECT_EQ(l::get(first, {64, 64}), 0x600000U);
    EXPECT_EQ(engine_key(index, 0).entry_count, 2U);

    EXPECT_EQ(run(0xa0a, {{l::destroy_umem_in::umem_id, umem}}, 16, 16, 0, uid).status, Status::bad_res_state);
    EXPECT_EQ(run(0x202, {{l::destroy_mkey_in::mkey_index, index}}, 16, 16, 0, uid).status, Status::ok) << log_;
    EXPECT_EQ(run(0xa0a, {{l::destroy_umem_in::umem_id, umem}}, 16, 16, 0, uid).status, Status::ok) << log_;
}

TEST_F(TheKeys, WhoseStartDisagreesWithTheirUmemGetTheHardwaresSyndrome)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(uid);
    const std::uint32_t umem = make_umem(uid, 21, 0x1000, {0x400000, 0xa00000});
    const Answer answer = run(umem_key(uid, umem, 0, 0x10002000, 0x1000, pd));
    EXPECT_EQ(answer.status, Status::bad_param);
    EXPECT_EQ(answer.syndrome, 0x317175U);
    EXPECT_EQ(run(umem_key(uid, umem, 0x1000, 0x10002000, 0x1000, pd)).status, Status::ok) << log_;
}

TEST_F(TheKeys, EndWithinTheirUmem)
{
    const auto uid = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t pd = make_pd(uid);
    const std::uint32_t umem = make_umem(uid, 12, 0x800, {0x10000, 0x20000});
    EXPECT_EQ(run(umem_key(uid, umem, 0, 0x800, 0x1800, pd)).status, Status::ok) << log_;
    EXPECT_EQ(run(umem_key(uid, umem, 0, 0x800, 0x1801, pd)).status, Status::bad_param);
    EXPECT_EQ(run(umem_key(uid, umem, ~0ULL - 0x7ff, 0, 0x1000, pd)).status, Status::bad_param);
}

TEST_F(TheKeys, OfOneUserHaveNoUmemOfAnothersNorWriteWhatIsReadOnly)
{
    const auto one = static_cast<std::uint16_t>(make_uctx());
    const auto other = static_cast<std::uint16_t>(make_uctx());
    const std::uint32_t theirs = make_umem(one, 12, 0, {0x10000});
    EXPECT_EQ(run(umem_key(other, theirs, 0, 0, 0x1000, make_pd(other))).status, Status::bad_res);
    EXPECT_EQ(run(umem_key(one, theirs, 0, 0, 0x1000, pd_)).status, Status::bad_res) << "the kernel's domain";
    const std::uint32_t read_only = make_umem(one, 12, 0, {0x10000}, 1);
    EXPECT_EQ(run(umem_key(one, read_only, 0, 0, 0x1000, make_pd(one))).status, Status::bad_param);
}

TEST_F(TheKeys, HaveUmemsOfSoManyPagesAsThereMayBe)
{
    const std::vector<std::uint64_t> most(options().keys.translations);
    const std::uint32_t umem = make_umem(0, 12, 0, most);
    namespace in_umem = l::umem;
    auto another = input(0xa08, 0, 0, l::create_umem_in::umem.offset + in_umem::mtt.offset + 8,
                         {{l::shifted(in_umem::num_of_mtt, l::create_umem_in::umem.offset), 1}});
    l::set(std::span{another}.last(8), {0, 64}, 3);
    EXPECT_EQ(run(another).status, Status::no_res);
    EXPECT_EQ(run(0xa0a, {{l::destroy_umem_in::umem_id, umem}}).status, Status::ok) << log_;
    EXPECT_EQ(run(another).status, Status::ok) << log_;
    firmware_.reset();
    begin();
    (void)make_umem(0, 12, 0, most);
}

TEST_F(TheKeys, SpecialOnesAreAlwaysThere)
{
    const Answer answer = run(0x203, {}, 16, l::query_special_contexts_out::bytes);
    const auto reserved = static_cast<std::uint32_t>(answer.get(l::query_special_contexts_out::resd_lkey));
    EXPECT_EQ(engine_.query_mkey(hca::Mkey{reserved}).mode, hca::KeyMode::pa);
    EXPECT_TRUE(engine_.query_mkey(hca::Mkey{reserved}).privileged);
    const auto null = static_cast<std::uint32_t>(answer.get(l::query_special_contexts_out::null_mkey));
    EXPECT_EQ(engine_.query_mkey(hca::Mkey{null}).mode, hca::KeyMode::null);
    EXPECT_EQ(run(0x202, {{l::destroy_mkey_in::mkey_index, null >> 8}}).status, Status::bad_res);
}

// What mlx5_ib does with a key of its cache: UMR requests.
class KeyChanges : public TheKeys {
  protected:
    static constexpr std::uint64_t mask_to_register =
        1ULL << 0 | 1ULL << 1 | 1ULL << 6 | 1ULL << 7 | 1ULL << 13 | 1ULL << 17 | 1ULL << 18 | 1ULL << 29;

    static std::array<std::byte, 64> context(Values values)
    {
        std::array<std::byte, 64> made{};
        for (const auto& [field, value] : values)
            l::set(made, field, value);
        return made;
    }
    static std::vector<std::byte> words(const std::vector<std::uint64_t>& values)
    {
        std::vector<std::byte> made(8 * values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            l::set(std::span{made}.subspan(8 * i), {0, 64}, values[i]);
        return made;
    }
    Status change(const KeyChange& wanted)
    {
        try {
            firmware_.keys().change(wanted);
        } catch (const Refusal& refusal) {
            return refusal.status();
        } catch (const Error&) {
            return Status::bad_param;
        }
        return Status::ok;
    }
    Status fill(std::uint32_t index, std::uint32_t pd)
    {
        const auto to = context({{mkc::lr, 1},
                                 {mkc::lw, 1},
                                 {mkc::mkey_7_0, 7},
                                 {mkc::pd, pd},
                                 {mkc::start_addr, 0x5000},
                                 {mkc::len, 0x2000},
                                 {mkc::log_page_size, 12}});
        const auto translations = words({0x10003, 0x20003});
        return change({.index = index,
                       .expect = KeyChange::Expect::free,
                       .mask = mask_to_register,
                       .mkc = to,
                       .translations = translations});
    }
};

TEST_F(KeyChanges, FillAFreeKey)
{
    const std::uint32_t index = make_free(2);
    EXPECT_TRUE(engine_key(index, 0).free);
    ASSERT_EQ(fill(index, pd_), Status::ok);
    const hca::MkeyInfo info = engine_key(index, 7);
    EXPECT_FALSE(info.free);
    EXPECT_EQ(info.start, Iova{0x5000});
    EXPECT_EQ(info.entry_count, 2U);
    EXPECT_EQ(info.pd, hca::Pd{pd_});
    EXPECT_EQ(fill(index, pd_), Status::bad_res_state) << "it is not free";
    EXPECT_EQ(query(index).get(in_query(mkc::start_addr)), 0x5000U);
}

TEST_F(KeyChanges, FillALargeKeyPartByPart)
{
    const std::uint32_t index = make_free(4);
    const auto later = words({0x30000, 0x40000});
    const auto first = words({0x10000, 0x20000});
    EXPECT_EQ(change({.index = index, .translation_offset = 1, .translations = later}), Status::ok);
    EXPECT_EQ(change({.index = index, .translations = first}), Status::ok);
    const auto to = context({{mkc::lr, 1}, {mkc::pd, pd_}, {mkc::len, 0x4000}, {mkc::log_page_size, 12}});
    EXPECT_EQ(change({.index = index, .mask = mask_to_register, .mkc = to}), Status::ok);
    EXPECT_EQ(engine_key(index, 0).entry_count, 4U);
}

TEST_F(KeyChanges, ComeInWholeUnits)
{
    const std::uint32_t index = make_free(1);
    const auto unit = words({0x10000, 0x20000, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(change({.index = index, .translations = unit}), Status::ok) << "64 bytes, as mlx5_ib fills them up";
    const auto more = words({0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(change({.index = index, .translations = more}), Status::bad_param);
}

TEST_F(KeyChanges, InvalidateAKeyAndLetItsDomainGo)
{
    const std::uint32_t index = make_free(2);
    ASSERT_EQ(fill(index, pd_), Status::ok);
    const auto to = context({{mkc::free, 1}});
    EXPECT_EQ(change({.index = index, .expect = KeyChange::Expect::not_free, .mask = 1ULL << 29, .mkc = to}),
              Status::ok);
    EXPECT_TRUE(engine_key(index, 7).free);
    EXPECT_EQ(change({.index = index, .expect = KeyChange::Expect::not_free, .mask = 1ULL << 29, .mkc = to}),
              Status::bad_res_state);
    EXPECT_EQ(run(0x801, {{l::dealloc_pd_in::pd, pd_}}).status, Status::ok) << log_;
    EXPECT_EQ(engine_.counters().translations, 0U);
}

TEST_F(KeyChanges, ThatFailChangeNothing)
{
    const std::uint32_t index = make_free(2);
    ASSERT_EQ(fill(index, pd_), Status::ok);
    const Answer before = query(index);
    const auto unaligned = words({0x10100});
    EXPECT_EQ(change({.index = index, .translation_offset = 0, .translations = unaligned}), Status::bad_param);
    const auto beyond = words({0, 0});
    EXPECT_EQ(change({.index = index, .translation_offset = 4, .translations = beyond}), Status::bad_param);
    EXPECT_EQ(change({.index = index, .translation_offset = ~0ULL, .translations = beyond}), Status::bad_param);
    const auto longer = context({{mkc::len, 0x100000}});
    EXPECT_EQ(change({.index = index, .mask = 1, .mkc = longer}), Status::bad_param);
    EXPECT_EQ(change({.index = index, .mask = 1ULL << 60, .mkc = longer}), Status::bad_param);
    EXPECT_EQ(change({.index = index, .mask = 1}), Status::bad_param) << "no context";
    const auto nowhere = context({{mkc::pd, pd_ + 77}});
    EXPECT_EQ(change({.index = index, .mask = 1ULL << 7, .mkc = nowhere}), Status::bad_param);
    EXPECT_EQ(query(index).out, before.out);
    EXPECT_EQ(engine_key(index, 7).length, 0x2000U);
    EXPECT_EQ(change({.index = index + 99}), Status::bad_res);
    EXPECT_EQ(change({.index = index, .variant = 8}), Status::bad_res);
    EXPECT_EQ(change({.index = index, .pd = hca::Pd{pd_ + 1}}), Status::bad_res) << "a user's of another domain";
}

TEST_F(KeyChanges, OfAProcessAreOfKeysOverOtherKeys)
{
    // Else it could let a key of its own, that the kernel made, lead to any memory.
    const std::uint32_t index = make(pages_key(0x1000, 0x1000, 12, {0x10000}));
    const auto elsewhere = words({0x20000});
    const auto writable = context({{mkc::rw, 1}});
    const KeyChange to_move{.index = index, .pd = hca::Pd{pd_}, .translations = elsewhere};
    const KeyChange to_open{.index = index, .pd = hca::Pd{pd_}, .mask = 1ULL << 20, .mkc = writable};
    for (KeyChange wanted : {to_move, to_open}) {
        wanted.over_keys_only = true;
        EXPECT_EQ(change(wanted), Status::bad_res);
    }
    EXPECT_EQ(engine_key(index, 0x5a).rights, hca::KeyRights::local_read | hca::KeyRights::local_write);
    EXPECT_EQ(change(to_move), Status::ok) << "the kernel's";

    const std::uint64_t inner = hca::make_mkey(index, 0x5a).value;
    const std::uint32_t list = make_free(4, 2);
    const auto to = context({{mkc::lr, 1}, {mkc::pd, pd_}, {mkc::len, 0x400}});
    const auto pieces = words({0x400ULL << 32 | inner, 0x1000, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(
        change({.index = list, .over_keys_only = true, .mask = mask_to_register, .mkc = to, .translations = pieces}),
        Status::ok);
}

TEST_F(KeyChanges, OfADomainThatIsNewerEndBeforeIt)
{
    const std::uint32_t index = make_free(2);
    const std::uint32_t newer = make_pd();
    ASSERT_EQ(fill(index, newer), Status::ok);
    log_.clear();
    firmware_.reset();
    EXPECT_EQ(log_, "") << "the engine has lost its domain";
    EXPECT_EQ(firmware_.context().objects.count(), 0U);
}

TEST_F(KeyChanges, NeedAKeyThatAllowsThem)
{
    auto command = pages_key(0x1000, 0x1000, 12, {0x10000});
    l::set(command, of_key(mkc::umr_en), 0);
    const std::uint32_t index = make(command);
    EXPECT_EQ(change({.index = index, .mask = 1ULL << 29, .mkc = context({{mkc::free, 1}})}), Status::bad_res_state);
}

TEST_F(KeyChanges, BuildAKeyOfOtherKeys)
{
    const std::uint32_t inner = make(pages_key(0x1000, 0x2000, 12, {0x10000, 0x20000}));
    const std::uint64_t key = hca::make_mkey(inner, 0x5a).value;
    const std::uint32_t index = make_free(4, 2);
    const auto to = context({{mkc::lr, 1}, {mkc::pd, pd_}, {mkc::len, 0x800}});
    const auto pieces = words({0x400ULL << 32 | key, 0x1000, 0x400ULL << 32 | key, 0x2400, 0, 0, 0, 0});
    EXPECT_EQ(change({.index = index, .mask = mask_to_register, .mkc = to, .translations = pieces}), Status::ok);
    const hca::MkeyInfo info = engine_key(index, 0);
    EXPECT_EQ(info.mode, hca::KeyMode::klm);
    EXPECT_EQ(info.entry_count, 2U) << "padding is no piece";
}

} // namespace

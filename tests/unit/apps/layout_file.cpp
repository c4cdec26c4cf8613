// SPDX-License-Identifier: BSD-3-Clause
#include "common/layout_file.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

using namespace mrz;
using namespace mrz::app;

namespace {

void expect_refused(std::string_view text, std::string_view named)
{
    try {
        parse_layout_file(text);
        ADD_FAILURE() << "taken: " << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.error_number(), EINVAL);
        EXPECT_EQ(error.cause().trouble, Trouble::invalid);
        EXPECT_NE(error.cause().what.find(named), std::string::npos) << error.what();
        EXPECT_FALSE(error.cause().remedy.empty());
    }
}

// A file that is right but for one more member, or another one.
void expect_member_refused(const std::string& member, std::string_view named)
{
    expect_refused("{" + member + R"(, "extents": [{"dma": "0x1000", "length": 4096}]})", named);
}

void expect_extent_refused(const std::string& extent, std::string_view named)
{
    expect_refused(R"({"extents": [{"dma": "0x0", "length": 4096}, )" + extent + "]}", named);
}

} // namespace

TEST(LayoutFile, TakesEveryMember)
{
    const LayoutFile file = parse_layout_file(
        R"({"iova": "0x7F0000000000", "min_page_shift": 13, "max_page_shift": 63, "max_segment": 2147483648,
            "umem": true, "single_key": false, "indirect": false,
            "weights": {"mtt": 2, "mkey": 0, "indirect": 4294967295}, "extents": [{"dma": "0xffffffffffe00000", "length": 2097152}, {"dma": "0x0", "length": 1},
                                      {"dma": "0x1", "length": 4095}]})");
    EXPECT_EQ(file.options.iova, Iova{0x7f0000000000});
    EXPECT_EQ(file.limits.min_page_shift, PageShift{13});
    EXPECT_EQ(file.limits.max_page_shift, PageShift{63});
    EXPECT_EQ(file.limits.max_segment, 2_GiB);
    EXPECT_EQ(file.limits.rule, PageSizeRule::umem);
    EXPECT_FALSE(file.options.single_key);
    EXPECT_FALSE(file.limits.indirect.klm);
    EXPECT_FALSE(file.limits.indirect.ksm);
    EXPECT_EQ(file.options.weights, (Weights{.mtt = 2, .mkey = 0, .indirect = 4294967295}));
    ASSERT_EQ(file.layout.extents().size(), 2U);
    EXPECT_EQ(file.layout.extents()[0].dma, DmaAddress{0xffffffffffe00000});
    EXPECT_EQ(file.layout.extents()[1].length, 4096U);
}

TEST(LayoutFile, LeavesTheRestToTheDefaults)
{
    const LayoutFile file = parse_layout_file(R"({"extents": [{"dma": "0x1000", "length": 4096}]})");
    EXPECT_FALSE(file.options.iova);
    EXPECT_EQ(file.limits.min_page_shift, PageShift{12});
    EXPECT_EQ(file.limits.max_page_shift, PageShift{31});
    EXPECT_FALSE(file.limits.max_segment);
    EXPECT_EQ(file.limits.rule, PageSizeRule::memory_region);
    EXPECT_TRUE(file.options.single_key);
    EXPECT_TRUE(file.limits.indirect.klm);
    EXPECT_TRUE(file.limits.indirect.ksm);
    EXPECT_EQ(file.options.weights, (Weights{.mtt = 1, .mkey = 1, .indirect = 1}));
    const LayoutFile nulls = parse_layout_file(
        R"({"iova": null, "max_segment": null, "umem": false, "extents": [{"dma": "0x1000", "length": 4096}]})");
    EXPECT_FALSE(nulls.options.iova);
    EXPECT_FALSE(nulls.limits.max_segment);
    EXPECT_EQ(nulls.limits.rule, PageSizeRule::memory_region);
}

TEST(LayoutFile, RefusesWhatIsNoJson)
{
    expect_refused("", "no JSON");
    expect_refused("{", "no JSON");
    expect_refused(R"({"extents": []} x)", "no JSON from byte 17");
    expect_refused(R"({"extents": [1e999]})", "number");
    expect_refused("\xff", "no JSON");
    expect_refused("[]", "the file is no object");
}

TEST(LayoutFile, RefusesMembersThatAreUnknownMissingOrThereTwice)
{
    expect_member_refused(R"("iowa": null)", R"(the file has an unknown member "iowa")");
    expect_member_refused(R"("umem": true, "umem": false)", R"("umem" is there twice)");
    expect_refused("{}", "no extents");
    expect_extent_refused(R"({"dma": "0x1000", "length": 1, "offset": 0})",
                          R"(extents[1] has an unknown member "offset")");
    expect_extent_refused(R"({"length": 1})", "extents[1] has no dma");
    expect_extent_refused(R"({"dma": "0x1000"})", "extents[1] has no length");
    expect_extent_refused(R"({"dma": "0x1000", "length": 1, "length": 1})", R"("length" is there twice)");
}

TEST(LayoutFile, RefusesAddressesThatAreNoHexStrings)
{
    for (const char* const text : {"4096", "null", "true", "[]", R"("4096")", R"("1000")", R"("0x")", R"("")",
                                   R"("0x-1")", R"("-0x1")", R"("0x+1")", R"("0x 1")", R"("0x1g")", R"("0x0x1")",
                                   R"("0X1000")", R"(" 0x1000")", R"("0x1000 ")", R"("0x1\u0000")"})
        expect_extent_refused(R"({"dma": )" + std::string{text} + R"(, "length": 4096})", "extents[1].dma");
    expect_extent_refused(R"({"dma": "0x10000000000000000", "length": 1})", "extents[1].dma is above 2^64 - 1");
    expect_member_refused(R"("iova": 4096)", "iova");
    expect_member_refused(R"("iova": "4096")", "iova");
}

TEST(LayoutFile, RefusesLengthsThatAreNoPositiveCounts)
{
    for (const char* const text :
         {"0", "-1", "-0", "1.0", "4e3", R"("4096")", "null", "true", "18446744073709551616"})
        expect_extent_refused(R"({"dma": "0x1000", "length": )" + std::string{text} + "}", "extents[1].length");
}

TEST(LayoutFile, RefusesWhatPassesTheAddressSpace)
{
    expect_extent_refused(R"({"dma": "0xfffffffffffff000", "length": 4097})", "extents[1].length");
    expect_extent_refused(R"({"dma": "0x0", "length": 18446744073709551615})", "extents[1].length");
}

TEST(LayoutFile, RefusesExtentsThatAreNone)
{
    expect_refused(R"({"extents": []})", "extents");
    expect_refused(R"({"extents": {}})", "extents");
    expect_refused(R"({"extents": null})", "extents");
    expect_extent_refused("7", "extents[1] is no object");
}

TEST(LayoutFile, RefusesLimitsThatMakeNoSense)
{
    expect_member_refused(R"("min_page_shift": 11)", "min_page_shift is 11");
    expect_member_refused(R"("max_page_shift": 64)", "max_page_shift is 64");
    expect_member_refused(R"("max_page_shift": 12.0)", "max_page_shift");
    expect_member_refused(R"("max_page_shift": null)", "max_page_shift");
    expect_member_refused(R"("min_page_shift": 4294967308)", "min_page_shift");
    expect_member_refused(R"("min_page_shift": 31, "max_page_shift": 30)", "min_page_shift (31) is above");
    expect_member_refused(R"("max_segment": 0)", "max_segment is 0");
    expect_member_refused(R"("max_segment": 4097)", "max_segment is 4097");
    expect_member_refused(R"("max_segment": -4096)", "max_segment");
    expect_member_refused(R"("umem": 1)", "umem");
    expect_member_refused(R"("umem": null)", "umem");
}

TEST(LayoutFile, RefusesChoicesThatMakeNoSense)
{
    expect_member_refused(R"("single_key": 1)", "single_key is neither");
    expect_member_refused(R"("indirect": null)", "indirect is neither");
    expect_member_refused(R"("weights": 1)", "weights is no object");
    expect_member_refused(R"("weights": {"mtts": 1})", R"(weights has an unknown member "mtts")");
    expect_member_refused(R"("weights": {"mtt": 1, "mtt": 1})", R"("mtt" is there twice)");
    expect_member_refused(R"("weights": {"mkey": -1})", "weights.mkey");
    expect_member_refused(R"("weights": {"indirect": 0.5})", "weights.indirect");
    expect_member_refused(R"("weights": {"mtt": 4294967296})", "weights.mtt is 4294967296");
}

TEST(LayoutFile, TakesSomeWeights)
{
    const LayoutFile file =
        parse_layout_file(R"({"weights": {"mkey": 7}, "extents": [{"dma": "0x1000", "length": 4096}]})");
    EXPECT_EQ(file.options.weights, (Weights{.mtt = 1, .mkey = 7, .indirect = 1}));
}

TEST(PlanToJson, SaysTheWholePlan)
{
    Layout layout;
    layout.append(DmaAddress{4_GiB}, 4_MiB);
    layout.append(DmaAddress{8_GiB + 4_MiB}, 4_MiB);
    EXPECT_EQ(plan_to_json(make_plan(layout, {}, {})), Json::parse(R"({
        "bytes": 8388608, "mtt_entries": 2, "total_entries": 2, "cost": 3,
        "mkeys": [{"iova": "0x100000000", "length": 8388608, "page_shift": 22, "entries": 2}],
        "indirect": null,
        "limit": {"term": "break", "bit": 22, "at": "0x100400000"}})"));
}

TEST(PlanToJson, SaysWhatAnIndirectKeyReaches)
{
    Layout layout;
    layout.append(DmaAddress{4_GiB}, 4_MiB);
    layout.append(DmaAddress{8_GiB + 4_KiB}, 2_MiB);
    const PlanOptions options{.weights = {.mtt = 1, .mkey = 1, .indirect = 1}};
    const Json klm = plan_to_json(make_optimal_plan(layout, options, {.indirect = {.klm = true}}));
    EXPECT_EQ(klm["cost"], 7);
    EXPECT_EQ(klm["total_entries"], 4);
    EXPECT_EQ(klm["mkeys"].size(), 2U);
    EXPECT_EQ(klm["indirect"], Json::parse(R"({
        "kind": "klm", "entries": 2, "iova": "0x100000000", "entry_shift": null,
        "pieces": [{"mkey": 0, "offset": 0, "length": 4194304},
                   {"mkey": 1, "offset": 4194304, "length": 2097152}]})"));
    const Json ksm = plan_to_json(make_optimal_plan(layout, options, {.indirect = {.ksm = true}}));
    EXPECT_EQ(ksm["indirect"]["kind"], "ksm");
    EXPECT_EQ(ksm["indirect"]["entry_shift"], 22);
}

TEST(PlanToJson, SaysWhereNothingIsProven)
{
    Plan plan = make_plan(Layout::worst_case(PageShift{21}, 4), {}, {});
    EXPECT_FALSE(plan_to_json(plan).contains("proven"));
    plan.proven = false;
    EXPECT_EQ(plan_to_json(plan)["proven"], false);
}

TEST(PlanToJson, NamesUmemsUnderTheirRuleOnly)
{
    Layout layout;
    layout.append(DmaAddress{4_GiB}, 6_MiB);
    const Json json = plan_to_json(make_plan(layout, {}, {.rule = PageSizeRule::umem}));
    EXPECT_EQ(json["umems"], Json::parse(R"([{"offset": 0, "length": 6291456, "page_shift": 21}])"));
    EXPECT_EQ(json["limit"]["term"], "length");
}

// SPDX-License-Identifier: BSD-3-Clause
#include "layout_file.hpp"

#include "signals.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace mrz::app {
namespace {

using Value = nlohmann::json;

// Names an example that is right, as nothing helps more with a file that is wrong.
constexpr const char* example =
    R"(give e.g. {"iova": null, "extents": [{"dma": "0x40000000", "length": 2097152}]}; see mrz(1))";

[[noreturn]] void refuse(std::string what)
{
    throw Error{
        EINVAL,
        {.trouble = Trouble::invalid, .what = "layout file: " + std::move(what), .limit = "", .remedy = example}};
}

std::string in_quotes(std::string_view name)
{
    return Value(name).dump(-1, ' ', true, Value::error_handler_t::replace);
}

// Builds the value in one pass. nlohmann's own parser with a callback, which could refuse members that are there
// twice as well, looks through a whole list again for each object in it.
class Builder final : public nlohmann::json_sax<Value> {
  public:
    Value take() { return std::move(root_); }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return false; } // not in text
    bool start_object(std::size_t) override { return open(Value::object()); }
    bool start_array(std::size_t) override { return open(Value::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override
    {
        const auto [member, is_new] = open_.back()->emplace(name, nullptr);
        // JSON lets a reader take either.
        if (!is_new)
            refuse(in_quotes(name) + " is there twice");
        member_ = &*member;
        return true;
    }
    bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override
    {
        if (dynamic_cast<const Value::out_of_range*>(&error) != nullptr)
            refuse("a number is beyond any type");
        refuse("no JSON from byte " + std::to_string(byte) + " on");
    }

  private:
    Value* place(Value&& value)
    {
        if (open_.empty())
            return &(root_ = std::move(value));
        if (open_.back()->is_array())
            return &open_.back()->emplace_back(std::move(value));
        return &(*member_ = std::move(value));
    }
    bool add(Value&& value)
    {
        place(std::move(value));
        return true;
    }
    bool open(Value&& value)
    {
        throw_if_interrupted();
        open_.push_back(place(std::move(value)));
        return true;
    }
    bool close()
    {
        open_.pop_back();
        return true;
    }

    Value root_;
    std::vector<Value*> open_; // A list does not grow, and so does not move, while something in it is open.
    Value* member_ = nullptr;  // The one whose value comes next.
};

Value parse(std::string_view text)
{
    Builder builder;
    Value::sax_parse(text, &builder);
    return builder.take();
}

void check_object(const Value& value, const std::string& name, std::initializer_list<std::string_view> members)
{
    if (!value.is_object())
        refuse(name + " is no object");
    for (const auto& [member, unused] : value.items())
        if (std::find(members.begin(), members.end(), member) == members.end())
            refuse(name + " has an unknown member " + in_quotes(member));
}

std::uint64_t whole_number(const Value& value, const std::string& name)
{
    if (!value.is_number_unsigned())
        refuse(name + " is no whole number from 0 to 2^64 - 1");
    return value.get<std::uint64_t>();
}

std::uint64_t address(const Value& value, const std::string& name)
{
    if (!value.is_string())
        refuse(name + " is no string \"0x…\"");
    const auto& text = value.get_ref<const std::string&>();
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    // Neither a sign nor a second prefix gets through: from_chars takes digits alone for an unsigned type.
    if (!text.starts_with("0x") || text.size() == 2)
        refuse(name + " is no \"0x…\": " + in_quotes(text));
    const auto [rest, error] = std::from_chars(text.data() + 2, end, number, 16);
    if (error == std::errc::result_out_of_range)
        refuse(name + " is above 2^64 - 1: " + in_quotes(text));
    if (error != std::errc{} || rest != end)
        refuse(name + " is no \"0x…\": " + in_quotes(text));
    return number;
}

PageShift page_shift(const Value& value, const std::string& name)
{
    const std::uint64_t shift = whole_number(value, name);
    if (shift < 12 || shift > 63)
        refuse(name + " is " + std::to_string(shift) + ", not 12 to 63");
    return PageShift{static_cast<unsigned>(shift)};
}

bool truth(const Value& file, const char* name, bool otherwise)
{
    if (!file.contains(name))
        return otherwise;
    if (!file[name].is_boolean())
        refuse(std::string{name} + " is neither true nor false");
    return file[name].get<bool>();
}

Limits parse_limits(const Value& file)
{
    Limits limits;
    if (file.contains("min_page_shift"))
        limits.min_page_shift = page_shift(file["min_page_shift"], "min_page_shift");
    if (file.contains("max_page_shift"))
        limits.max_page_shift = page_shift(file["max_page_shift"], "max_page_shift");
    if (limits.min_page_shift > limits.max_page_shift)
        refuse("min_page_shift (" + std::to_string(limits.min_page_shift.value()) + ") is above max_page_shift (" +
               std::to_string(limits.max_page_shift.value()) + ")");
    if (file.contains("max_segment") && !file["max_segment"].is_null()) {
        limits.max_segment = whole_number(file["max_segment"], "max_segment");
        if (*limits.max_segment == 0 || *limits.max_segment % 4096 != 0)
            refuse("max_segment is " + std::to_string(*limits.max_segment) + ", no positive multiple of 4096");
    }
    if (truth(file, "umem", false))
        limits.rule = PageSizeRule::umem;
    limits.indirect.klm = limits.indirect.ksm = truth(file, "indirect", true);
    return limits;
}

Weights parse_weights(const Value& file)
{
    Weights weights{.mtt = 1, .mkey = 1, .indirect = 1};
    if (!file.contains("weights"))
        return weights;
    const Value& given = file["weights"];
    check_object(given, "weights", {"mtt", "mkey", "indirect"});
    const auto weight = [&given](const char* name, std::uint64_t& value) {
        if (!given.contains(name))
            return;
        value = whole_number(given[name], std::string{"weights."} + name);
        if (value > std::numeric_limits<std::uint32_t>::max())
            refuse(std::string{"weights."} + name + " is " + std::to_string(value) + ", above 2^32 - 1");
    };
    weight("mtt", weights.mtt);
    weight("mkey", weights.mkey);
    weight("indirect", weights.indirect);
    return weights;
}

PlanOptions parse_options(const Value& file)
{
    PlanOptions options{.single_key = truth(file, "single_key", true), .weights = parse_weights(file)};
    if (file.contains("iova") && !file["iova"].is_null())
        options.iova = Iova{address(file["iova"], "iova")};
    return options;
}

Layout parse_extents(const Value& extents)
{
    if (!extents.is_array() || extents.empty())
        refuse("extents is no array of at least one extent");
    Layout layout;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        throw_if_interrupted();
        const std::string name = "extents[" + std::to_string(i) + "]";
        const Value& extent = extents[i];
        check_object(extent, name, {"dma", "length"});
        for (const char* const member : {"dma", "length"})
            if (!extent.contains(member))
                refuse(name + " has no " + member);
        const DmaAddress dma{address(extent["dma"], name + ".dma")};
        const std::uint64_t length = whole_number(extent["length"], name + ".length");
        if (length == 0)
            refuse(name + ".length is 0");
        try {
            layout.append(dma, length);
        } catch (const Error& error) {
            refuse(name + ".length: " + error.cause().what);
        }
    }
    return layout;
}

} // namespace

LayoutFile parse_layout_file(std::string_view text)
{
    const Value file = parse(text);
    check_object(file, "the file",
                 {"iova", "min_page_shift", "max_page_shift", "max_segment", "umem", "single_key", "indirect",
                  "weights", "extents"});
    if (!file.contains("extents"))
        refuse("there are no extents");
    return {.layout = parse_extents(file["extents"]), .options = parse_options(file), .limits = parse_limits(file)};
}

namespace {

Json indirect_to_json(const PlannedIndirect& indirect)
{
    Json pieces = Json::array();
    for (const IndirectEntry& entry : indirect.entries)
        pieces.push_back({{"mkey", entry.key}, {"offset", entry.offset}, {"length", entry.length}});
    return {{"kind", to_string(indirect.kind)},
            {"entries", indirect.entries.size()},
            {"iova", format_hex(indirect.iova.value())},
            {"entry_shift", indirect.entry_shift ? Json(indirect.entry_shift->value()) : Json(nullptr)},
            {"pieces", std::move(pieces)}};
}

} // namespace

Json plan_to_json(const Plan& plan)
{
    Json keys = Json::array();
    for (const PlannedKey& key : plan.keys)
        keys.push_back({{"iova", format_hex(key.iova.value())},
                        {"length", key.length},
                        {"page_shift", key.page_shift.value()},
                        {"entries", key.entries}});
    Json object{
        {"bytes", plan.bytes},
        {"mtt_entries", plan.mtt_entries()},
        {"total_entries", plan.total_entries()},
        {"cost", plan.cost()},
        {"mkeys", std::move(keys)},
        {"indirect", plan.indirect ? indirect_to_json(*plan.indirect) : Json(nullptr)},
        {"limit",
         {{"term", to_string(plan.limit.term)}, {"bit", plan.limit.bit}, {"at", format_hex(plan.limit.at.value())}}}};
    if (!plan.umems.empty()) {
        Json umems = Json::array();
        for (const PlannedUmem& umem : plan.umems)
            umems.push_back(
                {{"offset", umem.offset}, {"length", umem.length}, {"page_shift", umem.page_shift.value()}});
        object["umems"] = std::move(umems);
    }
    if (!plan.proven)
        object["proven"] = false;
    return object;
}

} // namespace mrz::app

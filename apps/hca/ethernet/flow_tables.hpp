// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Tables that received packets are looked up in. No packet comes, so nothing is looked up; but what a table, its
//! groups and their entries say is checked, kept, and holds what it leads to.
#pragma once

#include "ethernet/objects.hpp"
#include "firmware/command.hpp"
#include "firmware/context.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace mrz::ethernet {

class FlowGroup;
class FlowTables;

class FlowTable final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::flow_table;
    FlowTable(std::uint32_t number, std::uint16_t uid, Given context, std::uint32_t its_level, std::uint32_t room,
              Use<FlowTable> miss)
        : Object{kind, number, uid}, given{std::move(context)}, level{its_level}, entries{room}, next{std::move(miss)}
    {
    }

    Given given;
    const std::uint32_t level;   //!< It leads to tables of higher ones only, so that no packet goes round.
    const std::uint32_t entries; //!< That there is room for.
    Use<FlowTable> next;         //!< For what no entry matches; none: it goes the usual way.
    std::map<std::uint32_t, FlowGroup*> groups; //!< By their first entries.
};

//! Entries of a table, that compare the same fields.
class FlowGroup final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::flow_group;
    using Match = std::array<std::byte, 512>; //!< A fte_match_param.
    using Destination = std::variant<Use<Tir>, Use<FlowTable>>;
    struct Entry {
        std::uint32_t tag;
        std::uint16_t action;
        Match value;
        std::vector<Destination> destinations;
    };

    FlowGroup(FlowTables& tables, std::uint32_t number, std::uint16_t uid, Use<FlowTable> its_table,
              std::uint32_t begin, std::uint32_t end_at, const Match& compared)
        : Object{kind, number, uid}, table{std::move(its_table)}, first{begin}, last{end_at}, criteria{compared},
          tables_{tables}
    {
    }
    //! Its entries go with it.
    void end() override;

    const Use<FlowTable> table;
    const std::uint32_t first;
    const std::uint32_t last;
    const Match criteria;
    std::map<std::uint32_t, Entry> entries;

  private:
    FlowTables& tables_;
};

class FlowTables {
  public:
    explicit FlowTables(const firmware::Context& context);
    void add_to(firmware::Commands& commands);

  private:
    friend class FlowGroup;

    void create(const firmware::Command& command);
    void modify(const firmware::Command& command);
    void destroy(const firmware::Command& command);
    void query(const firmware::Command& command) const;
    void set_root(const firmware::Command& command) const;
    void create_group(const firmware::Command& command);
    void destroy_group(const firmware::Command& command);
    void set_entry(const firmware::Command& command);
    void delete_entry(const firmware::Command& command);
    [[nodiscard]] Use<FlowTable> next_of(std::span<const std::byte> context, std::uint32_t level,
                                         std::uint16_t uid) const;
    [[nodiscard]] std::vector<FlowGroup::Destination> destinations_of(std::span<const std::byte> flow,
                                                                      std::uint32_t level, std::uint16_t uid) const;

    const firmware::Context context_;
    std::uint64_t entries_ = 0; //!< Of all tables: what a guest can make this process remember is bounded.
};

} // namespace mrz::ethernet

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What the suite saw, as tables: `conformance --table`.
#pragma once

#include <mrzone/device.hpp>

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::test {

//! One way to use a region or a queue pair, and how it ended.
struct Cell {
    std::string table; //!< Its title.
    std::string row;
    std::string column;
    WcStatus happened = WcStatus::success;
    std::vector<WcStatus> expected = {}; //!< Any of them; not empty.
    std::string_view departure = {};     //!< Why it may have ended as it did all the same; mostly nothing.

    //! As expected, or as is known of the device.
    [[nodiscard]] bool passed() const;
};

//! Tables in the order in which their first cells came, a set for each device.
class Report {
  public:
    static Report& instance();

    void add(const std::string& device, Cell cell);
    //! With the tests of GoogleTest that ran, too.
    void print(std::ostream& stream) const;

  private:
    struct Table {
        std::string device;
        std::string title;
        std::vector<std::string> rows;
        std::vector<std::string> columns;
        std::vector<Cell> cells;
    };
    static void print(const Table& table, std::ostream& stream);

    std::vector<Table> tables_;
};

} // namespace mrz::test

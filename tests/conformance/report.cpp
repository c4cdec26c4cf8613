// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iomanip>
#include <ostream>
#include <set>
#include <string_view>

namespace mrz::test {
namespace {

//! "ok", "remote access": all that is not a success is an error.
std::string shortened(WcStatus status)
{
    if (status == WcStatus::success)
        return "ok";
    static constexpr std::string_view error = " error";
    std::string_view name = to_string(status);
    if (name.ends_with(error))
        name.remove_suffix(error.size());
    return std::string{name};
}

std::string text(const Cell& cell)
{
    if (!cell.departure.empty())
        return shortened(cell.happened) + " (departs: not " + shortened(cell.expected.front()) + ")";
    if (cell.passed())
        return shortened(cell.happened);
    return shortened(cell.happened) + " (not " + shortened(cell.expected.front()) + ")";
}

void note(std::vector<std::string>& names, const std::string& name)
{
    if (std::ranges::find(names, name) == names.end())
        names.push_back(name);
}

void pad(std::ostream& stream, const std::string& word, std::size_t width)
{
    stream << word << std::string(width - word.size() + 2, ' ');
}

std::size_t longest(const std::vector<std::string>& words, std::size_t least)
{
    for (const std::string& word : words)
        least = std::max(least, word.size());
    return least;
}

constexpr std::array all_statuses{
    WcStatus::local_length_error,           WcStatus::local_qp_operation_error,
    WcStatus::local_protection_error,       WcStatus::flush_error,
    WcStatus::bad_response_error,           WcStatus::local_access_error,
    WcStatus::remote_invalid_request_error, WcStatus::remote_access_error,
    WcStatus::remote_operation_error,       WcStatus::retry_exceeded,
    WcStatus::rnr_retry_exceeded,           WcStatus::general_error,
};

void print_tests(std::ostream& stream)
{
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    stream << "\ntests\n";
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const testing::TestSuite& suite = *all.GetTestSuite(i);
        for (int j = 0; j < suite.total_test_count(); ++j) {
            const testing::TestInfo& test = *suite.GetTestInfo(j);
            if (!test.should_run())
                continue;
            const testing::TestResult& result = *test.result();
            const char* const verdict = result.Failed() ? "FAIL" : result.Skipped() ? "skip" : "pass";
            stream << "  " << verdict << "  " << suite.name() << '.' << test.name() << '\n';
        }
    }
}

} // namespace

bool Cell::passed() const
{
    return !departure.empty() || std::ranges::find(expected, happened) != expected.end();
}

Report& Report::instance()
{
    static Report report;
    return report;
}

void Report::add(const std::string& device, Cell cell)
{
    auto table = std::ranges::find_if(
        tables_, [&](const Table& known) { return known.device == device && known.title == cell.table; });
    if (table == tables_.end())
        table = tables_.insert(tables_.end(),
                               {.device = device, .title = cell.table, .rows = {}, .columns = {}, .cells = {}});
    note(table->rows, cell.row);
    note(table->columns, cell.column);
    table->cells.push_back(std::move(cell));
}

void Report::print(std::ostream& stream) const
{
    std::vector<std::string> devices;
    for (const Table& table : tables_)
        note(devices, table.device);
    for (const std::string& device : devices) {
        stream << "device " << device
               << ": how operations ended (\"ok\", or the error), and whether as they should\n";
        std::size_t cells = 0;
        std::size_t failed = 0;
        std::set<WcStatus> seen;
        std::vector<std::string> departures;
        std::size_t departed = 0;
        for (const Table& table : tables_) {
            if (table.device != device)
                continue;
            print(table, stream);
            cells += table.cells.size();
            for (const Cell& cell : table.cells) {
                failed += cell.passed() ? 0 : 1;
                seen.insert(cell.happened);
                if (!cell.departure.empty()) {
                    ++departed;
                    note(departures, std::string{cell.departure});
                }
            }
        }
        if (departed != 0)
            stream << "\nwhere device " << device << " is known to depart from the specification:\n";
        for (const std::string& departure : departures)
            stream << "  " << departure << '\n';
        stream << "\ndevice " << device << ": " << cells << " cases, " << failed << " not as expected, " << departed
               << " known departures; never seen:";
        std::string_view separator = " ";
        for (const WcStatus status : all_statuses) {
            if (!seen.contains(status)) {
                stream << separator << to_string(status);
                separator = ", ";
            }
        }
        stream << (separator == " " ? " nothing\n" : "\n");
    }
    print_tests(stream);
}

void Report::print(const Table& table, std::ostream& stream)
{
    // Of several in one place the first that failed, or else the first.
    const auto find = [&](const std::string& row, const std::string& column) {
        const Cell* found = nullptr;
        for (const Cell& cell : table.cells) {
            if (cell.row == row && cell.column == column && (found == nullptr || (found->passed() && !cell.passed())))
                found = &cell;
        }
        return found;
    };
    const std::size_t first_width = longest(table.rows, 0);
    std::vector<std::size_t> widths;
    for (const std::string& column : table.columns) {
        std::size_t width = column.size();
        for (const Cell& cell : table.cells)
            width = cell.column == column ? std::max(width, text(cell).size()) : width;
        widths.push_back(width);
    }
    stream << '\n' << table.title << "\n  ";
    pad(stream, "", first_width);
    for (std::size_t i = 0; i < widths.size(); ++i)
        pad(stream, table.columns[i], widths[i]);
    stream << '\n';
    for (const std::string& row : table.rows) {
        bool passed = true;
        bool departs = false;
        stream << "  ";
        pad(stream, row, first_width);
        for (std::size_t i = 0; i < widths.size(); ++i) {
            const Cell* const cell = find(row, table.columns[i]);
            pad(stream, cell == nullptr ? "-" : text(*cell), widths[i]);
            passed = passed && (cell == nullptr || cell->passed());
            departs = departs || (cell != nullptr && !cell->departure.empty());
        }
        stream << (!passed ? "FAIL" : departs ? "departs" : "pass") << '\n';
    }
}

} // namespace mrz::test

// SPDX-License-Identifier: BSD-3-Clause
#include "reports.hpp"

#include "common/fields.hpp"

#include <mrzone/cache.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/region.hpp>
#include <mrzone/zone.hpp>

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <vector>

namespace mrz::testpmd {
namespace {

template <class Snapshot>
std::string all_of(std::string_view kind, const std::vector<Living>& living,
                   std::optional<Snapshot> (*snapshot_of)(std::uint64_t))
{
    std::string text;
    for (const Living& one : living)
        if (const std::optional<Snapshot> snapshot = snapshot_of(one.number))
            text += app::to_text(fmt::format("{} {}", kind, one.name), fields_of(*snapshot));
    return text;
}

} // namespace

std::string snapshots()
{
    return all_of("arena", Arena::living(), Arena::snapshot_of) +
           all_of("domain", Domain::living(), Domain::snapshot_of) +
           all_of("cache", Cache::living(), Cache::snapshot_of) +
           app::to_text("pools", fields_of(read_pools(hugepage_sizes())));
}

} // namespace mrz::testpmd

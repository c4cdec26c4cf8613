// SPDX-License-Identifier: BSD-3-Clause
#include "plan_kinds.hpp"

#include "memory_kinds.hpp"

#include "common/arena_pages.hpp"
#include "common/eal.hpp"
#include "common/layout_file.hpp"
#include "common/memory_layout.hpp"
#include "common/pool_changes.hpp"
#include "common/pool_request.hpp"
#include "common/process_limits.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"

#include <mrzone/host.hpp>
#include <mrzone/hugepage.hpp>
#include <mrzone/zone.hpp>

#include <cerrno>
#include <functional>

namespace mrz::app {
namespace {

Limits limits()
{
    return {.max_page_shift = host::max_registration_shift()};
}

template <class Memory>
void look(KindOfMemory& kind, std::size_t size, std::size_t page_size)
{
    const Memory memory{size, page_size};
    const auto [frames_known, layout] = layout_of(memory.bytes(), page_size);
    kind.frames_known = frames_known;
    kind.extents = layout.extents().size();
    kind.plan = make_plan(layout, Iova{reinterpret_cast<std::uintptr_t>(memory.bytes().data())}, limits());
}

void look_at_arena(KindOfMemory& kind, std::size_t size, std::size_t page_size)
{
    ProgressBar bar{"zeroing pages"};
    const Arena arena = Arena::build("mrz_plan", {.size = size,
                                                  .page_size = page_size,
                                                  .surplus = surplus_for(size, page_size),
                                                  .progress = [&bar](const BuildProgress& progress) {
                                                      throw_if_interrupted();
                                                      bar.update(progress.taken, progress.wanted);
                                                  }});
    const Window& window = arena.windows().front();
    kind.frames_known = window.frames_known();
    kind.extents = window.layout().extents().size();
    kind.plan = window.plan(limits());
}

//! What one cannot have, another may.
KindOfMemory try_to(std::string name, std::string description, const std::function<void(KindOfMemory&)>& look_at)
{
    throw_if_interrupted();
    KindOfMemory kind{.name = std::move(name), .description = std::move(description), .refused = {}, .plan = {}};
    try {
        look_at(kind);
    } catch (const Error& error) {
        kind.refused = error.what();
    }
    return kind;
}

void check_pages(std::size_t size, std::size_t page_size)
{
    Window::preflight({.size = size, .page_size = page_size});
    const std::uint64_t need = size / page_size + (page_size == Window::header_size ? 1 : 0);
    Pool pool = read_pool(page_size);
    if (const std::uint64_t unclaimed = unclaimed_pages(page_size, {}); unclaimed < need) {
        pool.free = unclaimed; // the rest is another program's
        pool.reserved = 0;
        throw Error{ENOMEM, pool_too_small(pool, need)};
    }
    check_open_files(size / page_size);
}

Json to_json(const KindOfMemory& kind)
{
    if (!kind.refused.empty())
        return {{"kind", kind.name}, {"refused", kind.refused}};
    return {{"kind", kind.name},
            {"refused", nullptr},
            {"frames_known", kind.frames_known},
            {"extents", kind.extents},
            {"plan", plan_to_json(kind.plan)}};
}

} // namespace

KindsOfMemory compare_kinds(std::size_t size, std::size_t page_size)
{
    KindsOfMemory found;
    try {
        check_pages(size, page_size);
        const Eal eal;
        // DPDK and mmap first: they find the pool as it is, before an arena's surplus has come back in order.
        found.kinds.push_back(try_to("dpdk", "DPDK's memory, as it comes",
                                     [=](auto& kind) { look<DpdkMemory>(kind, size, page_size); }));
        found.kinds.push_back(try_to("mapping", "mmap MAP_HUGETLB, as it comes",
                                     [=](auto& kind) { look<PlainHugepages>(kind, size, page_size); }));
        found.kinds.push_back(try_to("arena", "an arena", [=](auto& kind) { look_at_arena(kind, size, page_size); }));
    } catch (const Error& error) {
        found.reason = error.what();
        return found;
    }
    bool hidden = false;
    for (const KindOfMemory& kind : found.kinds)
        hidden = hidden || (kind.refused.empty() && !kind.frames_known);
    found.note = frames_note(hidden);
    return found;
}

Json to_json(const KindsOfMemory& kinds)
{
    if (kinds.kinds.empty())
        return nullptr;
    Json list = Json::array();
    for (const KindOfMemory& kind : kinds.kinds)
        list.push_back(to_json(kind));
    return list;
}

std::string to_text(const KindsOfMemory& kinds)
{
    if (kinds.kinds.empty())
        return "Nothing was taken to compare: " + kinds.reason + "\n";
    std::string text = "Taken now for a look, one key over each:\n";
    Table table{{"  memory", ">extents", ">entries", ">of", "limited by"}};
    std::string refusals;
    for (const KindOfMemory& kind : kinds.kinds) {
        if (!kind.refused.empty()) {
            table.add({"  " + kind.description, "-", "-", "-", "could not be had"});
            refusals += kind.description + ": " + kind.refused + "\n";
            continue;
        }
        table.add({"  " + kind.description, kind.frames_known ? fmt::format("{}", kind.extents) : "?",
                   fmt::format("{}", kind.plan.mtt_entries()), format_size(kind.plan.keys.front().page_shift.bytes()),
                   kind.frames_known ? std::string{to_string(kind.plan.limit.term)} : "frames are hidden"});
    }
    return text + table.text() + refusals + to_text(kinds.note);
}

} // namespace mrz::app

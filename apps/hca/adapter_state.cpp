// SPDX-License-Identifier: BSD-3-Clause
#include "adapter_state.hpp"

#include "layouts/memory.hpp"

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace mrz {
namespace {

using control::Json;

// Of HcaCounters::operations, in the order of hca::SendOpcode.
constexpr std::array<std::string_view, 7> operations{
    "rdma_write", "rdma_write_with_imm", "send", "send_with_imm", "rdma_read", "compare_and_swap", "fetch_and_add"};
static_assert(operations.size() == std::tuple_size_v<decltype(hca::HcaCounters::operations)>);

Json hit_counts(const hca::CacheGeometry& geometry, const hca::CacheCounts& counts)
{
    return {{"sets", geometry.sets}, {"ways", geometry.ways}, {"hits", counts.hits}, {"misses", counts.misses}};
}

std::string mode_of(const firmware::KeyContext& context)
{
    try {
        switch (context.mode()) {
        case firmware::AccessMode::pa:
            return "pa";
        case firmware::AccessMode::mtt:
            return "mtt";
        case firmware::AccessMode::klms:
            return "klm";
        case firmware::AccessMode::ksm:
            return "ksm";
        }
    } catch (const firmware::Refusal&) {
        return "unknown";
    }
    return "unknown";
}

std::string rights_of(const firmware::KeyContext& context)
{
    namespace mkc = layouts::mkc;
    std::string rights;
    for (const auto& [field, name] :
         {std::pair{mkc::lr, "lr"}, {mkc::lw, "lw"}, {mkc::rr, "rr"}, {mkc::rw, "rw"}, {mkc::a, "a"}}) {
        if (context.get(field) != 0)
            rights += (rights.empty() ? "" : " ") + std::string{name};
    }
    return rights;
}

} // namespace

Json show(const hca::HcaCounters& counters)
{
    Json done = Json::object();
    for (std::size_t i = 0; i < operations.size(); ++i)
        done[std::string{operations[i]}] = counters.operations[i];
    Json failures = Json::object();
    for (std::size_t i = 0; i < counters.failures.size(); ++i) {
        if (counters.failures[i] != 0)
            failures[std::string{hca::to_string(static_cast<hca::WcStatus>(i))}] = counters.failures[i];
    }
    return {{"operations", done},
            {"bytes", counters.bytes},
            {"failures", failures},
            {"receiver_not_ready", counters.receiver_not_ready},
            {"datagrams_dropped", counters.datagrams_dropped},
            {"keys", counters.keys},
            {"translations", counters.translations}};
}

Json show_caches(const hca::HcaOptions& options, const hca::HcaCounters& counters)
{
    return {{"mpt", hit_counts(options.mpt_cache, counters.mpt_cache)},
            {"mtt", hit_counts(options.mtt_cache, counters.mtt_cache)}};
}

Json show(const std::map<std::uint16_t, firmware::CommandCount>& counts)
{
    Json all = Json::object();
    for (const auto& [opcode, count] : counts)
        all[std::string{count.name}] = {{"times", count.times}, {"bytes", count.bytes}};
    return all;
}

Json show(const dma::MemoryCounts& counts)
{
    return {{"ranges", counts.ranges}, {"without_memory", counts.without_memory}, {"bytes", counts.bytes}};
}

Json show(const std::vector<fabric::Fabric::State>& links)
{
    Json all = Json::array();
    for (const fabric::Fabric::State& link : links) {
        Json peer;
        if (link.peer)
            peer = {{"lid", link.peer->lid}, {"guid", format_hex(link.peer->guid)}};
        all.push_back({{"path", printable(link.path)},
                       {"up", link.up},
                       {"peer", peer},
                       {"times_up", link.times_up},
                       {"times_lost", link.times_lost},
                       {"why_lost", link.why_lost},
                       {"packets_sent", link.counters.packets_sent},
                       {"bytes_sent", link.counters.bytes_sent},
                       {"packets_received", link.counters.packets_received},
                       {"bytes_received", link.counters.bytes_received}});
    }
    return all;
}

Json show(const firmware::MemoryKeys::Shown& key)
{
    namespace mkc = layouts::mkc;
    const firmware::KeyContext& context = key.context;
    Json shown{{"key", format_hex(key.key.value)},
               {"uid", key.uid},
               {"free", context.free()},
               {"mode", mode_of(context)},
               {"pd", context.get(mkc::pd)},
               {"rights", rights_of(context)},
               {"start", format_hex(context.get(mkc::start_addr))},
               {"bytes", context.get(mkc::len)},
               {"page_shift", context.page_shift()},
               {"octwords", context.get(mkc::translations_octword_size)},
               {"umem", key.umem}};
    if (!context.words.empty()) {
        Json words = Json::array();
        for (const std::uint64_t word : context.words)
            words.push_back(format_hex(word));
        shown["words"] = words;
    }
    return shown;
}

Json show(const std::vector<firmware::MemoryKeys::Shown>& keys, bool free, std::uint64_t most)
{
    std::size_t free_ones = 0;
    for (const firmware::MemoryKeys::Shown& key : keys)
        free_ones += key.context.free() ? 1 : 0;
    Json list = Json::array();
    for (const firmware::MemoryKeys::Shown& key : keys) {
        if (list.size() < most && (free || !key.context.free()))
            list.push_back(show(key));
    }
    return {{"all", keys.size()}, {"free", free_ones}, {"keys", list}};
}

} // namespace mrz

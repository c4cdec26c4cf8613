// SPDX-License-Identifier: BSD-3-Clause
#include "demo_traffic.hpp"

#include "common/loopback.hpp"
#include "common/signals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>

namespace mrz::app {
namespace {

using Clock = std::chrono::steady_clock;

Segment segment(const Region& region, std::span<const std::byte> bytes)
{
    const auto offset = static_cast<std::size_t>(bytes.data() - region.bytes().data());
    return {region.iova() + offset, static_cast<std::uint32_t>(bytes.size()), region.lkey()};
}

[[noreturn]] void fail(std::string what, std::string limit)
{
    throw Error{EIO,
                {.trouble = Trouble::data,
                 .what = std::move(what),
                 .limit = std::move(limit),
                 .remedy = "report it: the device, its driver or the memory is at fault"}};
}

void expect_success(WcStatus status, std::string_view operation)
{
    if (status != WcStatus::success)
        fail(std::string{operation} + " a zone under its own key", std::string{to_string(status)});
}

void expect_equal(std::span<const std::byte> got, std::span<const std::byte> wanted, Iova at)
{
    const auto differs = std::ranges::mismatch(got, wanted).in1;
    if (differs != got.end())
        fail("comparing " + format_size(got.size()) + " with what was written",
             "a byte differs at " + format_hex(at.value() + static_cast<std::uint64_t>(differs - got.begin())));
}

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937_64& random)
{
    std::vector<std::byte> bytes(count);
    std::ranges::generate(bytes, [&random] { return static_cast<std::byte>(random()); });
    return bytes;
}

//! The counters' difference is this program's, where nobody else uses the device.
std::optional<CacheUse> use_since(const std::optional<CacheCounters>& before, const Domain& domain,
                                  std::uint64_t reads)
{
    const std::optional<CacheCounters> after = domain.cache_counters();
    if (!before || !after)
        return std::nullopt;
    return CacheUse{
        .reads = reads, .hits = after->mtt_hits - before->mtt_hits, .misses = after->mtt_misses - before->mtt_misses};
}

} // namespace

Traffic move_data(const Domain& domain, const Zone& zone, const Zone& scratch, std::chrono::duration<double> duration)
{
    constexpr std::array<std::size_t, 3> lengths{64, 4096, longest_transfer};
    std::mt19937_64 random; // the same places in every run
    const std::vector<std::byte> pattern = random_bytes(2 * longest_transfer, random);
    const std::span<std::byte> out = scratch.bytes().first(longest_transfer);
    const std::span<std::byte> in = scratch.bytes().subspan(longest_transfer, longest_transfer);
    const Region& own = scratch.region(domain);
    const Region& target = zone.region(domain);
    Loopback loopback{domain};

    Traffic traffic;
    const auto start = Clock::now();
    for (std::size_t i = 0; Clock::now() - start < duration; ++i) {
        throw_if_interrupted();
        const std::size_t length = lengths[i % lengths.size()];
        const std::span<const std::byte> written = std::span{pattern}.subspan(random() % longest_transfer, length);
        const Iova at = target.iova() + random() % (zone.bytes().size() - length + 1);
        std::memcpy(out.data(), written.data(), length);
        expect_success(loopback.run(Opcode::rdma_write, segment(own, out.first(length)), at, target.rkey()),
                       "writing to");
        expect_success(loopback.run(Opcode::rdma_read, segment(own, in.first(length)), at, target.rkey()),
                       "reading from");
        expect_equal(in.first(length), written, at);
        traffic.operations += 2;
        traffic.bytes += 2 * length;
    }
    traffic.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return traffic;
}

std::optional<CacheUse> read_at_random(const Region& region)
{
    constexpr std::uint64_t reads = 50'000;
    constexpr std::size_t length = 64;
    const Domain domain = region.domain();
    alignas(4096) std::array<std::byte, 4096> page{};
    const Region own = domain.register_memory(page, Access::local_write);
    const std::span<std::byte> in = std::span{page}.first(length);
    std::mt19937_64 random;
    Loopback loopback{domain};
    const std::optional<CacheCounters> before = domain.cache_counters();
    for (std::uint64_t i = 0; i < reads; ++i) {
        throw_if_interrupted();
        const std::size_t offset = random() % (region.bytes().size() / length) * length;
        expect_success(loopback.run(Opcode::rdma_read, segment(own, in), region.iova() + offset, region.rkey()),
                       "reading from");
        expect_equal(in, region.bytes().subspan(offset, length), region.iova() + offset);
    }
    return use_since(before, domain, reads);
}

std::vector<Refused> try_what_is_refused(const Domain& domain, Arena& arena, const Zone& scratch)
{
    constexpr std::size_t length = 4096;
    const Region& own = scratch.region(domain);
    const std::span<std::byte> byte = scratch.bytes().first(1);
    std::vector<Refused> refused;
    const auto attempt = [&](std::string what, Opcode opcode, Iova at, RKey rkey) {
        const std::byte before = byte[0];
        // A failure ends a queue pair, so each attempt has its own.
        const WcStatus status = Loopback{domain}.run(opcode, segment(own, byte), at, rkey);
        if (status == WcStatus::success || byte[0] != before)
            fail("trying what must be refused: " + what, "it worked");
        refused.push_back({std::move(what), status});
    };
    RKey stale;
    Iova at;
    {
        const Zone zone = arena.reserve("mrz_demo_read_only", length, Access::remote_read);
        stale = zone.region(domain).rkey();
        at = zone.region(domain).iova();
        byte[0] = ~zone.bytes()[0];
        attempt("one byte too far", Opcode::rdma_read, at + length, stale);
        attempt("right not granted", Opcode::rdma_write, at, stale);
        if (byte[0] == zone.bytes()[0])
            fail("trying what must be refused: right not granted", "the byte was written");
    }
    attempt("stale key", Opcode::rdma_read, at, stale);
    return refused;
}

} // namespace mrz::app

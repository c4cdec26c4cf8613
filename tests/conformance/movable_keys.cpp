// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"
#include "support/refusal.hpp"

#include <mrzone/movable_key.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>

namespace mrz::test {
namespace {

//! Of a driver that cannot change keys by requests.
class WithoutMovableKeys : public Conformance {};
MRZ_DEVICES_OF(WithoutMovableKeys, "verbs");

TEST_P(WithoutMovableKeys, RefusesThemAndHasNone)
{
    const Error error = refusal([this] { MovableKey{domain, {.access = remote_rights, .entries = 4}}; });
    EXPECT_EQ(error.error_number(), ENOTSUP);
    EXPECT_EQ(error.cause().trouble, Trouble::unsupported);
    EXPECT_NE(error.cause().remedy, "");
    EXPECT_EQ(domain.snapshot().movable_keys, 0U);
}

class MovableKeys : public Conformance {
  protected:
    WcStatus use(Opcode opcode, Iova at, RKey rkey, std::size_t length = 8) const
    {
        const Pair pair{domain, domain};
        const Segment room = segment(local, 0, length);
        return pair.status(request(opcode, room, at, rkey));
    }
    WcStatus read(const RemoteRegion& remote, std::uint64_t offset = 0, std::size_t length = 8) const
    {
        return use(Opcode::rdma_read, remote.iova + offset, remote.rkey, length);
    }
    [[nodiscard]] std::span<std::byte> far(std::size_t offset, std::size_t length) const
    {
        return far_memory.bytes().subspan(margin + offset, length);
    }

    std::optional<MovableKey> key{std::in_place, domain, MovableKeyOptions{.access = remote_rights, .entries = 4}};
    const Region local = own();
    const Region region = expose(domain, Access::local_write); // nothing for peers
};
MRZ_DEVICES_OF(MovableKeys, "soft", "mlx5");

TEST_P(MovableKeys, LeadToJustThePartThatIsNamed)
{
    EXPECT_FALSE(key->remote());
    const auto part = far(page + 24, page);
    const RemoteRegion remote = key->lead_to(region, part);
    EXPECT_EQ(key->remote(), remote);
    EXPECT_EQ(remote.iova.value(), reinterpret_cast<std::uintptr_t>(part.data()));
    EXPECT_EQ(remote.length, part.size());
    EXPECT_EQ(remote.access, remote_rights);
    const Pair pair{domain, domain};
    const Segment room = segment(local, 0, part.size());
    EXPECT_EQ(pair.status(request(Opcode::rdma_read, room, remote.iova, remote.rkey)), WcStatus::success);
    EXPECT_TRUE(same(near_memory.bytes().first(part.size()), part));

    const std::vector<std::byte> before = far_memory.copy();
    for (const std::int64_t offset : {std::int64_t{-8}, static_cast<std::int64_t>(part.size()) - 7})
        for (const Opcode opcode : {Opcode::rdma_read, Opcode::rdma_write})
            EXPECT_EQ(use(opcode, remote.iova + static_cast<std::uint64_t>(offset), remote.rkey),
                      WcStatus::remote_access_error)
                << offset;
    EXPECT_TRUE(same(far_memory.bytes(), before));
    // The owner has no use of it.
    const Segment mistaken{remote.iova, 8, LKey{remote.rkey.value}};
    const Pair another{domain, domain};
    const Region peer = domain.register_memory(far(0, page), all_rights);
    EXPECT_EQ(another.status(request(Opcode::rdma_write, mistaken, peer.iova(), peer.rkey())),
              WcStatus::local_protection_error);
}

TEST_P(MovableKeys, MovedLeadElsewhereUnderAnotherRkey)
{
    const RemoteRegion first = key->lead_to(region, far(0, 64));
    const RemoteRegion second = key->lead_to(region, far(2 * page, 64));
    EXPECT_NE(first.rkey, second.rkey);
    EXPECT_EQ(first.rkey.value >> 8, second.rkey.value >> 8) << "it was made again";
    EXPECT_GT(second.generation, first.generation);
    EXPECT_EQ(read(second), WcStatus::success);
    EXPECT_EQ(use(Opcode::rdma_read, first.iova, second.rkey), WcStatus::remote_access_error);
    EXPECT_EQ(read(first), WcStatus::remote_access_error);
    EXPECT_EQ(use(Opcode::rdma_read, second.iova, first.rkey), WcStatus::remote_access_error);
}

TEST_P(MovableKeys, LedNowhereReachNothingAndCanBeLedAgain)
{
    const RemoteRegion first = key->lead_to(region);
    key->lead_nowhere();
    EXPECT_FALSE(key->remote());
    EXPECT_EQ(read(first), WcStatus::remote_access_error);
    key->lead_nowhere();
    const RemoteRegion second = key->lead_to(region);
    EXPECT_EQ(read(second), WcStatus::success);
    EXPECT_EQ(read(first), WcStatus::remote_access_error);
}

TEST_P(MovableKeys, LeadToPartsOneAfterTheOther)
{
    const Region other = domain.register_memory(near_memory.bytes().subspan(4 * page, 2 * page), Access::local_write);
    const std::array parts{RegionPart{region, far(2 * page, 100)}, RegionPart{other, other.bytes().subspan(page, 28)},
                           RegionPart{region, far(8, 72)}};
    const RemoteRegion remote = key->lead_to(parts);
    EXPECT_EQ(remote.length, 200U);
    EXPECT_EQ(remote.iova.value(), reinterpret_cast<std::uintptr_t>(parts.front().memory.data()));
    EXPECT_EQ(read(remote, 0, 200), WcStatus::success);
    std::size_t at = 0;
    for (const RegionPart& part : parts) {
        EXPECT_TRUE(same(near_memory.bytes().subspan(at, part.memory.size()), part.memory));
        at += part.memory.size();
    }
    EXPECT_EQ(read(remote, 193), WcStatus::remote_access_error);
}

TEST_P(MovableKeys, GrantWhatTheyWereMadeFor)
{
    for (const Access access : {Access::remote_read, Access::remote_write, Access::remote_atomic}) {
        SCOPED_TRACE(to_string(access));
        MovableKey other{domain, {.access = access}};
        EXPECT_EQ(other.access(), access);
        const RemoteRegion remote = other.lead_to(region, far(24, 64));
        for (const auto& [opcode, right] : {std::pair{Opcode::rdma_read, Access::remote_read},
                                            {Opcode::rdma_write, Access::remote_write},
                                            {Opcode::atomic_fetch_and_add, Access::remote_atomic}})
            EXPECT_EQ(use(opcode, remote.iova, remote.rkey),
                      right == access ? WcStatus::success : WcStatus::remote_access_error)
                << to_string(right);
    }
}

TEST_P(MovableKeys, LeadNowhereOnceTheirRegionEnds)
{
    std::optional<Region> ends{domain.register_memory(near_memory.bytes().first(2 * page), Access::local_write)};
    const std::array parts{RegionPart{region, far(0, 64)}, RegionPart{*ends, ends->bytes().first(64)}};
    const RemoteRegion remote = key->lead_to(parts);
    MovableKey other{domain};
    const RemoteRegion stays = other.lead_to(region, far(0, 64));
    EXPECT_EQ(read(remote, 64), WcStatus::success);
    ends.reset();
    EXPECT_FALSE(key->remote());
    EXPECT_EQ(read(remote, 64), WcStatus::remote_access_error);
    EXPECT_EQ(read(remote), WcStatus::remote_access_error);
    EXPECT_EQ(read(stays), WcStatus::success);
    EXPECT_EQ(read(key->lead_to(region)), WcStatus::success);
}

TEST_P(MovableKeys, RefuseAndStayWhereTheyLed)
{
    const RemoteRegion remote = key->lead_to(region, far(0, 64));
    const Region only_read = domain.register_memory(near_memory.bytes().first(page), Access::local_read);
    Domain elsewhere = Domain::open(GetParam());
    const Region foreign = elsewhere.register_memory(far_memory.bytes(), all_rights);
    const std::vector<RegionPart> many(5, RegionPart{region, far(0, 8)});
    const auto code = [&](std::span<const RegionPart> parts) {
        return refusal([&] { static_cast<void>(key->lead_to(parts)); }).error_number();
    };
    const auto code_of = [&](const Region& of, std::span<const std::byte> memory) {
        const RegionPart part{of, memory};
        return code({&part, 1});
    };
    EXPECT_EQ(code({}), EINVAL);
    EXPECT_EQ(code_of(region, far(0, 0)), EINVAL);
    EXPECT_EQ(code_of(region, far_memory.bytes().subspan(margin - 1, 8)), EINVAL);
    EXPECT_EQ(code_of(region, far_memory.bytes().subspan(margin + region_length - 7, 8)), EINVAL);
    EXPECT_EQ(code_of(region, far_memory.bytes()), EINVAL);
    EXPECT_EQ(code_of(only_read, only_read.bytes()), EACCES);
    EXPECT_EQ(code_of(foreign, foreign.bytes()), EINVAL);
    EXPECT_EQ(code(many), E2BIG);
    EXPECT_EQ(key->remote(), remote);
    EXPECT_EQ(read(remote), WcStatus::success);

    const auto made = [&](const MovableKeyOptions& options) {
        return refusal([&] { MovableKey{domain, options}; }).error_number();
    };
    EXPECT_EQ(made({.access = Access::local_read}), EINVAL);
    EXPECT_EQ(made({.access = Access::local_write | Access::remote_read}), EINVAL);
    EXPECT_EQ(made({.entries = 0}), EINVAL);
    EXPECT_EQ(made({.entries = std::size_t{1} << 40}), E2BIG);
    EXPECT_EQ(domain.snapshot().movable_keys, 1U);
}

TEST_P(MovableKeys, LiveInTheirDomain)
{
    EXPECT_EQ(domain.snapshot().movable_keys, 1U);
    Domain other = Domain::open(GetParam());
    {
        MovableKey there{other};
        EXPECT_EQ(there.domain(), other);
        const Error busy = refusal([&] { other.close(); });
        EXPECT_EQ(busy.error_number(), EBUSY);
        EXPECT_THAT(busy.cause().limit, testing::HasSubstr("movable key"));
        there = std::move(*key);
        EXPECT_EQ(there.domain(), domain);
        EXPECT_NO_THROW(other.close());
        EXPECT_EQ(refusal([&] { MovableKey{other}; }).error_number(), EBADF);
    }
    EXPECT_EQ(domain.snapshot().movable_keys, 0U);
}

//! Peers read while the key moves between two parts of memory: they read what it led to, whole, or are refused.
TEST_P(MovableKeys, AreMovedUnderTraffic)
{
    const std::array parts{far(0, 64), far(2 * page, 64)};
    std::ranges::fill(parts[0], std::byte{0x11});
    std::ranges::fill(parts[1], std::byte{0x22});
    const int moves = quirks.slow ? 40 : 400;
    std::atomic<std::uint64_t> now{0}; // the index and the rkey
    std::atomic<bool> done{false};
    std::thread mover{[&] {
        for (int i = 0; i < moves; ++i) {
            const std::uint64_t which = static_cast<std::uint64_t>(i) % 2;
            now = which << 32 | key->lead_to(region, parts[which]).rkey.value;
        }
        done = true;
    }};
    int reads = 0;
    int refused = 0;
    while (!done || reads == 0) {
        const std::uint64_t seen = now;
        if (seen == 0)
            continue;
        const std::span<std::byte> part = parts[seen >> 32];
        const Pair pair{domain, domain};
        const Segment room = segment(local, 0, part.size());
        const Iova at{reinterpret_cast<std::uintptr_t>(part.data())};
        const WcStatus status =
            pair.status(request(Opcode::rdma_read, room, at, RKey{static_cast<std::uint32_t>(seen)}));
        if (status == WcStatus::success) {
            ++reads;
            EXPECT_TRUE(same(near_memory.bytes().first(64), part));
        } else {
            ++refused;
            EXPECT_EQ(status, WcStatus::remote_access_error);
        }
    }
    mover.join();
    RecordProperty("refused", refused);
}

//! Threads make, lead and end keys, and lead one that is common to all, while the regions that these lead to end.
TEST_P(MovableKeys, AreLedWhileWhatOthersLeadToEnds)
{
    constexpr unsigned threads = 4;
    const int rounds = quirks.slow ? 25 : 300;
    const auto work = [&](unsigned number) {
        const auto part = far_memory.bytes().subspan(margin + number * page, page);
        for (int round = 0; round < rounds; ++round) {
            std::optional<Region> ends{domain.register_memory(part, Access::local_write)};
            MovableKey own{domain};
            const std::array parts{RegionPart{region, far(0, 8)}, RegionPart{*ends, part.first(8)}};
            const RemoteRegion mine = own.lead_to(parts);
            const RemoteRegion common = key->lead_to(*ends);
            if (round % 3 == 0)
                own = MovableKey{domain, {.entries = 1}};
            if (round % 5 == 0)
                key->lead_nowhere();
            ends.reset();
            EXPECT_FALSE(own.remote());
            const auto now = key->remote();
            EXPECT_FALSE(now && now->generation == common.generation);
            EXPECT_NE(own.lead_to(region, far(0, 8)).generation, mine.generation);
        }
    };
    {
        std::vector<std::jthread> workers;
        for (unsigned number = 0; number < threads; ++number)
            workers.emplace_back(work, number);
    }
    EXPECT_EQ(domain.snapshot().movable_keys, 1U);
    EXPECT_EQ(read(key->lead_to(region, far(0, 64))), WcStatus::success);
}

} // namespace
} // namespace mrz::test

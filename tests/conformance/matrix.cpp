// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Each right, operation and bound, and each operation with keys that are none: how it ends, and that exactly the
//! bytes named have changed, and none if it was refused.
#include "fixture.hpp"

#include <optional>
#include <utility>

namespace mrz::test {
namespace {

//! What the region under test is to an operation.
enum class Role { source, sink, remote };

struct Operation {
    const char* name;
    Opcode opcode;
    Role role;
    Access needs; //!< For its role.
    bool receives = false;

    [[nodiscard]] bool is_atomic() const
    {
        return opcode == Opcode::atomic_compare_and_swap || opcode == Opcode::atomic_fetch_and_add;
    }
    [[nodiscard]] bool brings_back() const { return is_atomic() || opcode == Opcode::rdma_read; }
};
constexpr Operation operations[] = {
    {"send, source", Opcode::send, Role::source, Access::local_read},
    {"receive, sink", Opcode::send, Role::sink, Access::local_write, true},
    {"write, source", Opcode::rdma_write, Role::source, Access::local_read},
    {"write, remote", Opcode::rdma_write, Role::remote, Access::remote_write},
    {"write with immediate, source", Opcode::rdma_write_with_immediate, Role::source, Access::local_read},
    {"write with immediate, remote", Opcode::rdma_write_with_immediate, Role::remote, Access::remote_write},
    {"read, sink", Opcode::rdma_read, Role::sink, Access::local_write},
    {"read, remote", Opcode::rdma_read, Role::remote, Access::remote_read},
    {"compare and swap, sink", Opcode::atomic_compare_and_swap, Role::sink, Access::local_write},
    {"compare and swap, remote", Opcode::atomic_compare_and_swap, Role::remote, Access::remote_atomic},
    {"fetch and add, sink", Opcode::atomic_fetch_and_add, Role::sink, Access::local_write},
    {"fetch and add, remote", Opcode::atomic_fetch_and_add, Role::remote, Access::remote_atomic},
};

//! A range from a region's first byte on; may begin before it.
struct Range {
    std::int64_t offset;
    std::uint32_t length;
};
//! Ranges that must end alike: within the region, or not.
struct Bound {
    const char* name;
    bool within;
    std::vector<Range> ranges;
};

//! A region as an operation names it.
struct Target {
    Iova iova;
    LKey lkey;
    RKey rkey;
};
Target target_of(const Region& region)
{
    return {region.iova(), region.lkey(), region.rkey()};
}

class Matrix : public Conformance {
  protected:
    static constexpr std::size_t room = 104; // where the near memory takes part
    static constexpr std::uint32_t word = 8;

    static std::vector<Bound> bounds(const Operation& operation)
    {
        static constexpr auto length = static_cast<std::int64_t>(region_length);
        if (!operation.is_atomic())
            return {
                {"first byte", true, {{0, 1}}},
                {"last byte", true, {{length - 1, 1}, {0, region_length}}},
                {"one before", false, {{-1, 1}, {-1, 10}, {-4096, 8}}},
                {"one past", false, {{length, 1}, {length - 9, 10}, {0, region_length + 1}, {length + 4096, 8}}},
            };
        // Peers name whole words by addresses of whole words.
        if (operation.role == Role::remote)
            return {
                {"first byte", true, {{0, word}}},
                {"last byte", true, {{length - word, word}}},
                {"one before", false, {{-8, word}}},
                {"one past", false, {{length, word}}},
            };
        return {
            {"first byte", true, {{0, word}}},
            {"last byte", true, {{length - word, word}}},
            {"one before", false, {{-1, word}, {-8, word}}},
            {"one past", false, {{length - word + 1, word}, {length, word}}},
        };
    }
    static std::vector<WcStatus> refusal(const Operation& operation)
    {
        if (operation.role == Role::remote)
            return {WcStatus::remote_access_error};
        // What a peer sends back is refused as one or as the other.
        if (operation.brings_back())
            return {WcStatus::local_protection_error, WcStatus::local_access_error};
        return {WcStatus::local_protection_error};
    }

    //! Does an operation with \p target, which lies in the middle of the far memory, and with the near memory. Checks
    //! all that happened but how it ended for the target's side, which is returned.
    WcStatus attempt(const Operation& operation, const Target& target, Range range)
    {
        const Segment theirs{target.iova + static_cast<std::uint64_t>(range.offset), range.length, target.lkey};
        const Segment ours = segment(near_region, room, range.length);
        const bool near_is_remote = operation.role != Role::remote && !operation.receives;
        const Segment& local = near_is_remote ? theirs : ours;
        SendRequest work = request(operation.opcode, local, near_is_remote ? ours.iova : theirs.iova,
                                   near_is_remote ? near_region.rkey() : target.rkey);
        const std::vector<std::byte> near_before = near_memory.copy();
        const std::vector<std::byte> far_before = far_memory.copy();
        const auto far_at = static_cast<std::ptrdiff_t>(margin) + static_cast<std::ptrdiff_t>(range.offset);
        if (operation.opcode == Opcode::atomic_compare_and_swap && range.length == word && is_inside(range))
            work.compare = near_is_remote ? word_at(near_before, room) : word_at(far_before, far_at);

        // One pair until an error, which ends it: to make a pair may take longer than all else here.
        if (!pair)
            pair.emplace(domain, domain);
        const Segment& into = operation.receives ? theirs : ours;
        const bool takes_a_receive =
            operation.opcode == Opcode::send || operation.opcode == Opcode::rdma_write_with_immediate;
        if (takes_a_receive)
            pair->far->post_receive({.id = 1, .segments = {&into, 1}});
        WcStatus status = pair->status(work);
        if (operation.receives) {
            const WcStatus sent = status;
            status = Pair::wait(*pair->far).status;
            EXPECT_EQ(sent, status == WcStatus::success ? WcStatus::success : WcStatus::remote_operation_error);
        } else if (takes_a_receive && status == WcStatus::success) {
            EXPECT_EQ(Pair::wait(*pair->far).status, WcStatus::success);
        }
        if (status != WcStatus::success)
            pair.reset();

        std::vector<std::byte> near_expected = near_before;
        std::vector<std::byte> far_expected = far_before;
        if (status == WcStatus::success && range.length != 0) {
            const auto near_place = near_expected.begin() + room;
            const auto far_place = far_expected.begin() + far_at;
            if (operation.is_atomic()) {
                const std::uint64_t old = near_is_remote ? word_at(near_before, room) : word_at(far_before, far_at);
                const std::uint64_t now = operation.opcode == Opcode::atomic_fetch_and_add ? old + 1 : 1;
                put(near_place, near_is_remote ? now : old);
                put(far_place, near_is_remote ? old : now);
            } else if (operation.receives || operation.needs == Access::remote_write ||
                       (operation.brings_back() && near_is_remote)) {
                std::copy_n(near_before.begin() + room, range.length, far_place);
            } else {
                std::copy_n(far_before.begin() + far_at, range.length, near_place);
            }
        }
        if (status != WcStatus::success && quirks.parts_before_refusal && operation.role != Role::remote) {
            // Of what the other side lets be written, and of the region itself, but of nothing beyond.
            const std::size_t reach = operation.is_atomic() ? word : range.length;
            take_over(near_expected, near_memory, room, reach);
            take_over(far_expected, far_memory, margin, region_length);
        }
        EXPECT_TRUE(same(near_memory.bytes(), near_expected)) << "other bytes have changed than should";
        EXPECT_TRUE(same(far_memory.bytes(), far_expected)) << "other bytes have changed than should";
        std::memcpy(near_memory.bytes().data(), near_before.data(), near_before.size());
        std::memcpy(far_memory.bytes().data(), far_before.data(), far_before.size());
        return status;
    }
    //! Attempts with all of a bound's ranges; returns what is not as expected, else how they ended.
    WcStatus attempt(const Operation& operation, const Target& target, const std::vector<Range>& ranges,
                     const std::vector<WcStatus>& expected)
    {
        std::optional<WcStatus> ended;
        for (const Range range : ranges) {
            SCOPED_TRACE(std::string{operation.name} + ", " + std::to_string(range.length) + " bytes at " +
                         std::to_string(range.offset));
            const WcStatus status = attempt(operation, target, range);
            if (!ended || std::ranges::find(expected, status) == expected.end())
                ended = status;
        }
        return *ended;
    }

    static bool is_inside(Range range)
    {
        return range.offset >= 0 &&
               static_cast<std::uint64_t>(range.offset) + range.length <= static_cast<std::uint64_t>(region_length);
    }
    static std::uint64_t word_at(const std::vector<std::byte>& bytes, std::ptrdiff_t at)
    {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return value;
    }
    //! Lets a part be as it is.
    static void take_over(std::vector<std::byte>& expected, const Buffer& memory, std::size_t from,
                          std::size_t length)
    {
        const auto there = memory.bytes().subspan(from, std::min(length, memory.bytes().size() - from));
        std::ranges::copy(there, expected.begin() + static_cast<std::ptrdiff_t>(from));
    }
    static void put(std::vector<std::byte>::iterator place, std::uint64_t value)
    {
        std::memcpy(&*place, &value, sizeof value);
    }

    Region near_region = own(all_rights);
    std::optional<Pair> pair;
};
MRZ_EVERY_DEVICE(Matrix);

TEST_P(Matrix, OfRightsOperationsAndBoundsIsAsItShouldBe)
{
    const auto address = reinterpret_cast<std::uintptr_t>(far_memory.bytes().data()) + margin;
    for (unsigned bits = 0; bits < 16; ++bits) {
        const auto access = static_cast<Access>(bits);
        if ((grants(access, Access::remote_write) || grants(access, Access::remote_atomic)) &&
            !grants(access, Access::local_write))
            continue; // a contradiction, refused when registering
        const std::string title = "region that grants " + to_string(access);
        const Region region = expose(domain, access);
        // Begins so low that ranges which wrap around the address space end in it.
        const Region low = domain.register_memory(far_memory.bytes().subspan(margin, region_length), access,
                                                  {.iova = Iova{address % page}});
        for (const Operation& operation : operations) {
            const bool may = operation.needs == Access::local_read || grants(access, operation.needs);
            for (const Bound& bound : bounds(operation)) {
                const std::vector<WcStatus> expected =
                    may && bound.within ? std::vector{WcStatus::success} : refusal(operation);
                ends({title, operation.name, bound.name,
                      attempt(operation, target_of(region), bound.ranges, expected), expected});
            }
            const auto low_begin = static_cast<std::int64_t>(address % page);
            std::vector<Range> wrapping = {{-8 - low_begin, word}};
            if (!operation.is_atomic())
                wrapping = {{-1 - low_begin, 2}, {-9 - low_begin, static_cast<std::uint32_t>(low_begin + 20)}};
            else if (operation.role != Role::remote)
                wrapping = {{-4 - low_begin, word}};
            ends({title, operation.name, "wrapping", attempt(operation, target_of(low), wrapping, refusal(operation)),
                  refusal(operation)});
            // No bytes are within any bounds and need no right; but an atomic operation is of eight.
            const std::vector<WcStatus> nothing = {operation.is_atomic() ? WcStatus::local_length_error
                                                                         : WcStatus::success};
            ends({title, operation.name, "zero length",
                  attempt(operation, target_of(region), {{region_length, 0}}, nothing), nothing});
        }
    }
}

TEST_P(Matrix, OfKeysThatAreNoneIsAsItShouldBe)
{
    const std::string title = "keys of a region that grants all, used wrongly";
    const Domain foreign = Domain::open(GetParam());
    const Region region = expose(domain, all_rights);
    const Region foreign_region = expose(foreign, all_rights);
    const Target good = target_of(region);
    const auto stale = target_of(expose(domain, all_rights));
    // The same memory again, after which the old keys must be as stale.
    const Region again = expose(domain, all_rights);
    EXPECT_NE(again.rkey(), stale.rkey);
    EXPECT_NE(again.lkey(), stale.lkey);
    std::vector<Target> variants;
    for (const std::uint32_t difference : {0x01U, 0x80U, 0xffU})
        variants.push_back({good.iova, LKey{good.lkey.value ^ difference}, RKey{good.rkey.value ^ difference}});
    std::vector<std::pair<const char*, std::vector<Target>>> wrongly = {
        {"stale", {stale}},
        {"of another domain", {target_of(foreign_region)}},
        {"wrong variant", variants},
        {"never given", {{good.iova, LKey{0}, RKey{0}}, {good.iova, LKey{0xffffff00}, RKey{0xffffff00}}}},
    };
    if (good.lkey.value != good.rkey.value) // else this device gives one value to both
        wrongly.push_back({"lkey for rkey", {{good.iova, LKey{good.rkey.value}, RKey{good.lkey.value}}}});
    for (const Operation& operation : operations) {
        const std::vector<Range> range = {{0, operation.is_atomic() ? word : 64U}};
        ends({title,
              operation.name,
              "rightly",
              attempt(operation, good, range, {WcStatus::success}),
              {WcStatus::success}});
        for (const auto& [how, targets] : wrongly) {
            for (const Target& target : targets)
                ends({title, operation.name, how, attempt(operation, target, range, refusal(operation)),
                      refusal(operation)});
        }
    }
}

} // namespace
} // namespace mrz::test

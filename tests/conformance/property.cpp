// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Random registrations and operations through a domain, each compared with a plain model of memory, keys and rights.
#include "fixture.hpp"

#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <random>

namespace mrz::test {
namespace {

using Bytes = std::vector<std::byte>;

//! A region as the model sees it; remembered for a while after it has ended.
struct Known {
    std::optional<Region> region;
    std::size_t side;
    std::size_t begin; // in the side's memory
    std::size_t length;
    Access access;
    bool foreign;
    Iova iova;
    LKey lkey;
    RKey rkey;
};

//! What a work request names, and what of the side's memory that is.
struct Named {
    Iova iova;
    std::uint32_t length;
    std::uint32_t key;  // an lkey or an rkey
    std::size_t place;  // in the side's memory
    std::size_t usable; // bytes from there on that the key lets it reach

    [[nodiscard]] bool allowed() const { return length <= usable; }
};

class Property : public Conformance {
  protected:
    static constexpr std::size_t memory_length = 6 * page;
    static constexpr std::size_t most_regions = 16;
    static constexpr std::size_t remembered = 16;

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool one_in(std::uint64_t count) { return below(count) == 0; }

    // ---- Regions

    void register_some()
    {
        Known known{.region = {},
                    .side = below(2),
                    .begin = below(memory_length),
                    .length = 0,
                    .access = one_in(2) ? all_rights : static_cast<Access>(below(16)),
                    .foreign = one_in(8),
                    .iova = {},
                    .lkey = {},
                    .rkey = {}};
        known.length = 1 + below(one_in(4) ? 64 : memory_length - known.begin);
        known.length = std::min(known.length, memory_length - known.begin);
        const std::span<std::byte> bytes = memory_[known.side].bytes().subspan(known.begin, known.length);
        RegionOptions options;
        if (one_in(2)) // the low bits of a page are those of the address
            options.iova = Iova{below(1ULL << 50) * page + known.begin % page};
        const bool contradicts =
            !grants(known.access, Access::local_write) &&
            (grants(known.access, Access::remote_write) || grants(known.access, Access::remote_atomic));
        try {
            known.region.emplace((known.foreign ? foreign_ : domain).register_memory(bytes, known.access, options));
            ASSERT_FALSE(contradicts) << to_string(known.access);
        } catch (const Error& error) {
            ASSERT_TRUE(contradicts) << error.what();
            ASSERT_EQ(error.error_number(), EINVAL);
            return;
        }
        known.iova = known.region->iova();
        known.lkey = known.region->lkey();
        known.rkey = known.region->rkey();
        alive_[known.side].push_back(std::move(known));
    }
    void deregister_some()
    {
        std::vector<Known>& regions = alive_[below(2)];
        if (regions.empty())
            return;
        std::swap(regions[below(regions.size())], regions.back());
        Known known = std::move(regions.back());
        regions.pop_back();
        known.region.reset();
        ended_.push_back(std::move(known));
        if (ended_.size() > remembered)
            ended_.pop_front();
    }

    // ---- What work requests name

    //! A range for an operation whose key must grant \p needs, mostly a good one.
    Named name_some(std::size_t side, bool remote, Access needs, std::optional<std::uint32_t> length = {})
    {
        const bool stale = !ended_.empty() && one_in(25);
        if (!stale && alive_[side].empty())
            return {Iova{below(1ULL << 40)}, length.value_or(8), 0, 0, 0};
        const Known& known = stale ? ended_[below(ended_.size())] : alive_[side][below(alive_[side].size())];
        std::uint64_t offset = below(known.length);
        std::uint64_t size = length.value_or(static_cast<std::uint32_t>(below(one_in(4) ? 2 * page : 200)));
        if (!one_in(20) && offset + size > known.length) { // what does not fit is meant to be rare
            offset = size > known.length ? 0 : known.length - size;
            size = length ? size : std::min<std::uint64_t>(size, known.length);
        }
        if (one_in(60))
            offset = std::uint64_t{0} - 1 - below(300);
        std::uint32_t key = remote ? known.rkey.value : known.lkey.value;
        const bool wrong_side = known.lkey.value != known.rkey.value && one_in(40);
        if (wrong_side)
            key = remote ? known.lkey.value : known.rkey.value;
        const bool wrong_variant = one_in(40);
        if (wrong_variant)
            key ^= 1 + static_cast<std::uint32_t>(below(255));
        const bool granted = needs == Access::local_read || grants(known.access, needs);
        const bool good = !stale && !wrong_side && !wrong_variant && !known.foreign && granted;
        return {known.iova + offset, static_cast<std::uint32_t>(size), key, known.begin + offset,
                good && offset < known.length ? known.length - offset : 0};
    }
    static Segment segment_of(const Named& named) { return {named.iova, named.length, LKey{named.key}}; }
    //! Whether a list of local ranges is refused.
    static bool is_refused(const std::vector<Named>& list) { return !std::ranges::all_of(list, &Named::allowed); }

    // ---- Operations

    void operate()
    {
        const std::size_t near = below(2);
        const std::size_t far = 1 - near;
        const auto opcode = static_cast<Opcode>(below(7));
        const bool is_atomic = opcode >= Opcode::atomic_compare_and_swap;
        const bool brings_back = is_atomic || opcode == Opcode::rdma_read;
        const bool takes_receive = opcode == Opcode::send || opcode == Opcode::send_with_immediate ||
                                   opcode == Opcode::rdma_write_with_immediate;
        SendRequest work{.id = random_(),
                         .opcode = opcode,
                         .immediate = static_cast<std::uint32_t>(random_()),
                         .compare = random_(),
                         .swap_or_add = random_()};
        std::vector<Named> local;
        std::uint64_t length = 0;
        // What comes back goes to one piece, so that the order of copying does not matter.
        for (std::uint64_t pieces = brings_back ? 1 : below(4); pieces != 0; --pieces) {
            std::optional<std::uint32_t> fixed;
            if (is_atomic)
                fixed = one_in(20) && !quirks.any_atomic_length ? 7 : 8;
            local.push_back(name_some(near, false, brings_back ? Access::local_write : Access::local_read, fixed));
            length += local.back().length;
        }
        Named remote{};
        if (opcode != Opcode::send && opcode != Opcode::send_with_immediate) {
            const Access needs = is_atomic                     ? Access::remote_atomic
                                 : opcode == Opcode::rdma_read ? Access::remote_read
                                                               : Access::remote_write;
            remote = name_some(far, true, needs, static_cast<std::uint32_t>(length));
            if (is_atomic && !one_in(10)) { // aligned: what is refused must not come into its region by that
                const std::uint64_t odd = remote.iova.value() % 8;
                const std::uint64_t forward = remote.usable == 0 ? 0 - odd : (8 - odd) % 8;
                remote.iova = remote.iova + forward;
                remote.place += forward;
                remote.usable -= std::min<std::size_t>(remote.usable, forward);
            }
            work.remote_iova = remote.iova;
            work.rkey = RKey{remote.key};
        }
        if (opcode == Opcode::atomic_compare_and_swap && remote.allowed() && one_in(2))
            work.compare = word(model_[far], remote.place);
        std::vector<Named> receive;
        if (takes_receive) {
            for (std::uint64_t pieces = below(4); pieces != 0; --pieces)
                receive.push_back(name_some(far, false, Access::local_write));
            std::vector<Segment> segments;
            std::ranges::transform(receive, std::back_inserter(segments), segment_of);
            pair_[far]->post_receive({.id = 77, .segments = segments});
        }
        std::vector<Segment> segments;
        std::ranges::transform(local, std::back_inserter(segments), segment_of);
        work.segments = segments;

        std::vector<WcStatus> received;
        loose_.clear();
        const std::vector<WcStatus> expected = predict(near, work, local, length, remote, receive, received);
        pair_[near]->post_send(work);
        const Completion done = Pair::wait(*pair_[near]);
        ASSERT_THAT(expected, testing::Contains(done.status)) << "opcode " << static_cast<int>(opcode);
        ASSERT_EQ(done.id, work.id);
        if (!received.empty()) {
            const Completion got = Pair::wait(*pair_[far]);
            ASSERT_THAT(received, testing::Contains(got.status));
            ASSERT_EQ(got.id, 77U);
            if (got.status == WcStatus::success && opcode != Opcode::send) {
                ASSERT_EQ(got.immediate, work.immediate);
            }
        }
        if (done.status == WcStatus::success) {
            ++succeeded_;
        } else {
            ++refused_[static_cast<std::size_t>(done.status)];
            connect(); // after which nothing of it is on its way
            for (const Loose& loose : loose_)
                std::memcpy(model_[loose.side].data() + loose.begin, memory_[loose.side].bytes().data() + loose.begin,
                            loose.length);
        }
    }
    static std::uint64_t word(const Bytes& bytes, std::size_t at)
    {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return value;
    }
    static void put(Bytes& bytes, std::size_t at, std::uint64_t value)
    {
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }
    static Bytes gathered(const Bytes& from, const std::vector<Named>& list)
    {
        Bytes message;
        for (const Named& piece : list) {
            if (piece.length == 0) // its place may be none
                continue;
            const auto begin = from.begin() + static_cast<std::ptrdiff_t>(piece.place);
            message.insert(message.end(), begin, begin + piece.length);
        }
        return message;
    }

    //! Any of which the operation may end with, and its receive, if it completes; does it in the model.
    std::vector<WcStatus> predict(std::size_t near, const SendRequest& work, const std::vector<Named>& local,
                                  std::uint64_t length, const Named& remote, const std::vector<Named>& receive,
                                  std::vector<WcStatus>& received)
    {
        Bytes& own = model_[near];
        Bytes& others = model_[1 - near];
        const bool is_atomic = work.opcode >= Opcode::atomic_compare_and_swap;
        if (is_atomic && length != 8)
            return {WcStatus::local_length_error};
        if (quirks.parts_before_refusal) {
            if (const auto refused = predict_refusal(near, work, local, length, remote, receive, received);
                !refused.empty())
                return refused;
        }
        if (is_refused(local))
            return {WcStatus::local_protection_error};
        if (work.opcode == Opcode::send || work.opcode == Opcode::send_with_immediate)
            return predict_send(others, gathered(own, local), receive, received);
        if (is_atomic && remote.iova.value() % 8 != 0)
            return {WcStatus::remote_invalid_request_error};
        if (!remote.allowed())
            return {WcStatus::remote_access_error};
        if (is_atomic) {
            const std::uint64_t old = word(others, remote.place);
            if (work.opcode == Opcode::atomic_fetch_and_add)
                put(others, remote.place, old + work.swap_or_add);
            else if (old == work.compare)
                put(others, remote.place, work.swap_or_add);
            put(own, local[0].place, old);
        } else if (length != 0 && work.opcode == Opcode::rdma_read) {
            std::copy_n(others.begin() + static_cast<std::ptrdiff_t>(remote.place), length,
                        own.begin() + static_cast<std::ptrdiff_t>(local[0].place));
        } else if (length != 0) {
            std::ranges::copy(gathered(own, local), others.begin() + static_cast<std::ptrdiff_t>(remote.place));
        }
        if (work.opcode == Opcode::rdma_write_with_immediate)
            received = {WcStatus::success};
        return {WcStatus::success};
    }
    //! What may have happened, all or a part of it, where an operation is checked as its packets are made; nothing if
    //! it is not refused. Notes what memory it may have changed.
    std::vector<WcStatus> predict_refusal(std::size_t near, const SendRequest& work, const std::vector<Named>& local,
                                          std::uint64_t length, const Named& remote,
                                          const std::vector<Named>& receive, std::vector<WcStatus>& received)
    {
        const std::vector bad_source = {WcStatus::local_protection_error, WcStatus::local_qp_operation_error,
                                        WcStatus::flush_error}; // departures.cpp says why
        const std::size_t far = 1 - near;
        const bool is_atomic = work.opcode >= Opcode::atomic_compare_and_swap;
        const bool is_send = work.opcode == Opcode::send || work.opcode == Opcode::send_with_immediate;
        const bool bad_local = is_refused(local);
        std::vector<WcStatus> ends;
        if (is_send) {
            const bool bad_receive = !receives(receive, length);
            if (!bad_local && !bad_receive)
                return {};
            for (const Named& piece : receive)
                loosen(far, piece, piece.length);
            if (bad_local)
                ends = bad_source;
            else
                received = {WcStatus::local_qp_operation_error};
            if (bad_receive)
                ends.push_back(WcStatus::remote_operation_error);
            return ends;
        }
        if (bad_local) {
            if (is_atomic || work.opcode == Opcode::rdma_read)
                ends = {WcStatus::local_protection_error};
            else
                ends = bad_source;
        }
        const bool odd = is_atomic && remote.iova.value() % 8 != 0;
        if (odd)
            ends.push_back(WcStatus::remote_invalid_request_error);
        if (!remote.allowed()) // whichever is looked at first
            ends.push_back(WcStatus::remote_access_error);
        if (!bad_local || odd || !remote.allowed())
            return ends;
        if (work.opcode == Opcode::rdma_read)
            loosen(near, local.front(), length);
        else
            loosen(far, remote, is_atomic ? 8 : length);
        return ends;
    }
    //! Whether a receive takes a message of that length.
    static bool receives(const std::vector<Named>& receive, std::uint64_t length)
    {
        for (const Named& piece : receive) {
            const std::uint64_t part = std::min<std::uint64_t>(piece.length, length);
            if (part > piece.usable)
                return false;
            length -= part;
        }
        return length == 0;
    }
    //! What a name reaches, at most \p length of it, may be changed or not.
    void loosen(std::size_t side, const Named& named, std::uint64_t length)
    {
        if (const std::size_t reached = std::min<std::uint64_t>(named.usable, length); reached != 0)
            loose_.push_back({side, named.place, reached});
    }
    static std::vector<WcStatus> predict_send(Bytes& others, const Bytes& message, const std::vector<Named>& receive,
                                              std::vector<WcStatus>& received)
    {
        // What the message does not reach does not count.
        std::size_t room = 0;
        bool refused = false;
        for (const Named& piece : receive) {
            const std::size_t part = std::min<std::size_t>(piece.length, message.size() - room);
            refused = refused || part > piece.usable;
            room += part;
        }
        if (refused || room < message.size()) {
            std::vector<WcStatus> sender;
            if (refused) {
                received.push_back(WcStatus::local_protection_error);
                sender.push_back(WcStatus::remote_operation_error);
            }
            if (room < message.size()) {
                received.push_back(WcStatus::local_length_error);
                sender.push_back(WcStatus::remote_invalid_request_error);
            }
            return sender;
        }
        std::size_t taken = 0;
        for (const Named& piece : receive) {
            const std::size_t part = std::min<std::size_t>(piece.length, message.size() - taken);
            if (part != 0)
                std::copy_n(message.begin() + static_cast<std::ptrdiff_t>(taken), part,
                            others.begin() + static_cast<std::ptrdiff_t>(piece.place));
            taken += part;
        }
        received = {WcStatus::success};
        return {WcStatus::success};
    }

    void connect()
    {
        pair_[0].reset();
        Pair fresh{domain, domain};
        pair_[0] = std::move(fresh.near);
        pair_[1] = std::move(fresh.far);
    }
    void check_memory() const
    {
        for (std::size_t side = 0; side < 2; ++side)
            ASSERT_TRUE(same(memory_[side].bytes(), model_[side])) << "side " << side;
    }
    void run(unsigned seed, int steps)
    {
        random_.seed(seed);
        for (std::size_t side = 0; side < 2; ++side)
            model_[side] = memory_[side].copy();
        connect();
        for (int step = 0; step < steps; ++step) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
            if (one_in(10) && alive_[0].size() + alive_[1].size() < most_regions)
                register_some();
            else if (one_in(20))
                deregister_some();
            else
                operate();
            if (!HasFatalFailure())
                check_memory();
            if (HasFatalFailure())
                return;
        }
    }

    struct Loose {
        std::size_t side;
        std::size_t begin;
        std::size_t length;
    };

    std::mt19937_64 random_;
    std::vector<Loose> loose_; // memory that the operation which was refused may have changed
    Domain foreign_ = Domain::open(GetParam());
    std::array<Buffer, 2> memory_{Buffer{memory_length, 5}, Buffer{memory_length, 6}};
    std::array<Bytes, 2> model_;
    std::array<std::vector<Known>, 2> alive_;
    std::deque<Known> ended_;
    std::array<std::unique_ptr<QueuePair>, 2> pair_;
    unsigned succeeded_ = 0;
    std::array<unsigned, 16> refused_{};
};
MRZ_EVERY_DEVICE(Property);

TEST_P(Property, MemoryAndRefusalsAreWhatAPlainModelSays)
{
    // Another sequence: --gtest_random_seed=N.
    std::vector<unsigned> seeds = {1, 2, 3, 4};
    if (quirks.slow)
        seeds = {1};
    if (const int asked = GTEST_FLAG_GET(random_seed); asked != 0)
        seeds = {static_cast<unsigned>(asked)};
    for (const unsigned seed : seeds) {
        run(seed, static_cast<int>(quirks.steps));
        if (HasFatalFailure())
            return;
    }
    const auto refused = [this](WcStatus status) { return refused_[static_cast<std::size_t>(status)]; };
    const std::size_t steps = quirks.steps * seeds.size();
    EXPECT_GT(succeeded_, steps / 6);
    EXPECT_GT(refused(WcStatus::remote_access_error), steps / 60);
    EXPECT_GT(refused(WcStatus::local_protection_error) + refused(WcStatus::local_qp_operation_error) +
                  refused(WcStatus::flush_error),
              steps / 60);
    EXPECT_GT(refused(WcStatus::remote_operation_error), 0U);
    EXPECT_GT(refused(WcStatus::remote_invalid_request_error), 0U);
    if (!quirks.any_atomic_length) {
        EXPECT_GT(refused(WcStatus::local_length_error), 0U);
    }
}

} // namespace
} // namespace mrz::test

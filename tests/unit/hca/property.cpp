// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Random operations between two queue pairs, each compared with what a plain model of both memories says.
#include "engine.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

using namespace mrz;
using namespace mrz::hca;

namespace {

// A key as the model sees it: which bytes of which side, in order.
struct PlainKey {
    Mkey key;
    std::size_t side;
    KeyRights rights;
    std::uint64_t start;
    std::vector<std::size_t> bytes; // of the side's memory
    bool alive = true;
};

struct PlainReceive {
    std::vector<std::pair<std::size_t, std::uint64_t>> pieces; // place in memory, length
};

class Property : public EngineTest {
  protected:
    std::uint64_t below(std::uint64_t limit) { return random() % limit; }
    Side& side(std::size_t index) { return index == 0 ? alice : bob; }

    void make_keys()
    {
        keys.clear();
        for (std::size_t index = 0; index < 2; ++index) {
            for (int i = 0; i < 6; ++i) {
                PlainKey plain{{}, index, static_cast<KeyRights>(below(32)), side(index).pages.start, {}};
                if (below(2) == 0)
                    plain.rights = all_rights;
                for (std::size_t b = 0; b < region_bytes; ++b)
                    plain.bytes.push_back(b);
                plain.key = hca.create_mkey(side(index).pages.spec(pd, plain.rights));
                keys.push_back(plain);
            }
            for (int i = 0; i < 4; ++i)
                make_indirect(index);
        }
    }
    void make_indirect(std::size_t index)
    {
        PlainKey plain{{}, index, all_rights, below(1000), {}};
        MkeySpec spec;
        spec.mode = KeyMode::klm;
        spec.pd = pd;
        spec.rights = all_rights;
        spec.start = Iova{plain.start};
        for (int i = 0; i < 5; ++i) {
            const std::uint64_t place = below(region_bytes - 2000);
            const std::uint64_t length = below(2000);
            spec.entries.push_back({side(index).lkey, Iova{side(index).pages.start + place}, length});
            for (std::uint64_t b = 0; b < length; ++b)
                plain.bytes.push_back(place + b);
        }
        spec.length = plain.bytes.size();
        plain.key = hca.create_mkey(spec);
        keys.push_back(plain);
    }
    PlainKey& some_key(std::size_t index)
    {
        for (;;) {
            PlainKey& key = keys[below(keys.size())];
            if (key.side == index)
                return key;
        }
    }
    // A range of a key: mostly inside.
    std::pair<std::uint64_t, std::uint64_t> some_range(const PlainKey& key)
    {
        const std::uint64_t length = below(8) == 0 ? below(6000) : below(200);
        return {below(key.bytes.size() + 50) - (below(20) == 0 ? 60 : 0), length};
    }
    // Which bytes of the side's memory it is; none if refused.
    static std::optional<std::vector<std::size_t>> bytes_of(const PlainKey& key, std::uint64_t offset,
                                                            std::uint64_t length, KeyRights needs)
    {
        if (length == 0)
            return std::vector<std::size_t>{};
        if (!key.alive || !grants(key.rights, needs) || offset > key.bytes.size() ||
            length > key.bytes.size() - offset)
            return std::nullopt;
        return std::vector<std::size_t>(key.bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                                        key.bytes.begin() + static_cast<std::ptrdiff_t>(offset + length));
    }
    void reconnect()
    {
        for (Side* s : {&alice, &bob})
            hca.destroy_qp(s->qp);
        connect();
        for (auto& queue : receives)
            queue.clear();
        for (Side* s : {&alice, &bob})
            (void)completions(*s);
    }
    void check_memory()
    {
        for (std::size_t index = 0; index < 2; ++index)
            ASSERT_EQ(bytes(side(index)), model[index]);
    }

    // Posts a receive in both worlds.
    void post_receive(std::size_t index)
    {
        if (receives[index].size() >= 16)
            return;
        PlainReceive plain;
        std::vector<Sge> sges;
        for (std::uint64_t i = below(4); i != 0; --i) {
            const std::uint64_t length = below(300);
            const std::uint64_t place = below(region_bytes - length);
            sges.push_back(side(index).sge(place, static_cast<std::uint32_t>(length)));
            plain.pieces.emplace_back(place, length);
        }
        receives[index].push_back(plain);
        ASSERT_EQ(hca.post_receive(*side(index).qp, {1, sges}), 0);
    }

    // Says how an operation must end, having done it in the model if it succeeds.
    WcStatus predict(std::size_t index, SendOpcode opcode,
                     const std::vector<std::optional<std::vector<std::size_t>>>& local, std::uint64_t length,
                     const PlainKey& remote, std::uint64_t offset, const SendWorkRequest& work)
    {
        std::vector<std::byte>& own = model[index];
        std::vector<std::byte>& others = model[1 - index];
        if (is_atomic(opcode) && length != 8)
            return WcStatus::local_length_error;
        std::vector<std::size_t> mine;
        for (const auto& piece : local) {
            if (!piece)
                return WcStatus::local_protection_error;
            mine.insert(mine.end(), piece->begin(), piece->end());
        }
        if (opcode == SendOpcode::send || opcode == SendOpcode::send_with_immediate) {
            if (receives[1 - index].empty())
                return WcStatus::general_error; // waits
            const PlainReceive receive = receives[1 - index].front();
            receives[1 - index].pop_front();
            std::vector<std::size_t> room;
            for (const auto& [place, size] : receive.pieces) {
                for (std::uint64_t b = 0; b < size; ++b)
                    room.push_back(place + b);
            }
            if (room.size() < mine.size())
                return WcStatus::remote_invalid_request_error;
            for (std::size_t b = 0; b < mine.size(); ++b)
                others[room[b]] = own[mine[b]];
            return WcStatus::success;
        }
        if (is_atomic(opcode) && work.remote_address.value() % 8 != 0)
            return WcStatus::remote_invalid_request_error;
        const KeyRights needs = is_atomic(opcode)                 ? KeyRights::remote_atomic
                                : opcode == SendOpcode::rdma_read ? KeyRights::remote_read
                                                                  : KeyRights::remote_write;
        const auto theirs = bytes_of(remote, offset, length, needs);
        if (!theirs)
            return WcStatus::remote_access_error;
        if (opcode == SendOpcode::rdma_write_with_immediate) {
            if (receives[1 - index].empty())
                return WcStatus::general_error;
            receives[1 - index].pop_front();
        }
        if (!is_atomic(opcode)) {
            for (std::size_t b = 0; b < length; ++b) {
                if (opcode == SendOpcode::rdma_read)
                    own[mine[b]] = others[(*theirs)[b]];
                else
                    others[(*theirs)[b]] = own[mine[b]];
            }
            return WcStatus::success;
        }
        // In memory the word must be aligned and whole as well.
        const std::uint64_t address = side(1 - index).pages.start + theirs->front();
        if (address % 8 != 0 || theirs->back() - theirs->front() != 7)
            return WcStatus::remote_invalid_request_error;
        std::uint64_t word = 0;
        std::memcpy(&word, &others[theirs->front()], 8);
        const std::uint64_t original = word;
        if (opcode == SendOpcode::fetch_and_add)
            word += work.compare_add;
        else if (word == work.compare_add)
            word = work.swap;
        std::memcpy(&others[theirs->front()], &word, 8);
        for (std::size_t b = 0; b < 8; ++b)
            own[mine[b]] = static_cast<std::byte>(original >> (8 * b));
        return WcStatus::success;
    }

    void operate(std::size_t index)
    {
        const auto opcode = static_cast<SendOpcode>(below(7));
        SendWorkRequest work;
        work.opcode = opcode;
        work.flags = SendFlags::signaled;
        work.compare_add = below(2) == 0 ? 0 : random();
        work.swap = random();
        const KeyRights needs = brings_back(opcode) ? KeyRights::local_write : KeyRights::local_read;
        std::vector<Sge> sges;
        std::vector<std::optional<std::vector<std::size_t>>> local;
        std::uint64_t length = 0;
        // A target's pieces must not overlap, or the model would have to know the order of copying.
        const std::uint64_t pieces = brings_back(opcode) ? 1 : below(4);
        for (std::uint64_t i = 0; i < pieces; ++i) {
            const PlainKey& key = brings_back(opcode) ? keys[index == 0 ? below(6) : 10 + below(6)] : some_key(index);
            auto [offset, size] = some_range(key);
            if (is_atomic(opcode) && below(8) != 0)
                size = 8;
            sges.push_back({Iova{key.start + offset}, static_cast<std::uint32_t>(size), LKey{key.key.value}});
            local.push_back(bytes_of(key, offset, size, needs));
            length += size;
        }
        const PlainKey& remote =
            opcode == SendOpcode::rdma_read ? some_key(1 - index) : keys[index == 1 ? below(6) : 10 + below(6)];
        std::uint64_t offset = some_range(remote).first;
        if (is_atomic(opcode) && below(8) != 0)
            offset = ((remote.start + offset) & ~std::uint64_t{7}) - remote.start;
        work.sges = sges;
        work.remote_address = Iova{remote.start + offset};
        work.rkey = RKey{remote.key.value};

        const WcStatus expected = predict(index, opcode, local, length, remote, offset, work);
        ASSERT_EQ(hca.post_send(*side(index).qp, work), 0);
        const auto done = completions(side(index));
        if (expected == WcStatus::general_error) {
            ASSERT_TRUE(done.empty() || done.front().opcode >= WcOpcode::receive);
            ++waited;
            reconnect();
            return;
        }
        const auto own =
            std::find_if(done.begin(), done.end(), [](const Completion& c) { return c.opcode < WcOpcode::receive; });
        ASSERT_NE(own, done.end());
        ASSERT_EQ(to_string(own->status), to_string(expected)) << to_string(own->opcode);
        if (expected != WcStatus::success) {
            ++failed;
            check_memory();
            reconnect();
        } else {
            ++succeeded;
        }
    }

    std::mt19937_64 random;
    std::vector<PlainKey> keys;
    std::vector<std::byte> model[2];
    std::deque<PlainReceive> receives[2];
    unsigned succeeded = 0;
    unsigned failed = 0;
    unsigned waited = 0;
};

} // namespace

TEST_F(Property, MemoryIsWhatAPlainModelSays)
{
    for (const unsigned seed : {1U, 2U, 3U, 4U}) {
        random.seed(seed);
        if (alice.qp)
            reconnect();
        else
            connect();
        make_keys();
        for (std::size_t index = 0; index < 2; ++index)
            model[index] = bytes(side(index));
        for (int step = 0; step < 4000; ++step) {
            const std::size_t index = below(2);
            if (below(3) == 0)
                post_receive(index);
            else
                operate(index);
            if (HasFatalFailure())
                FAIL() << "seed " << seed << ", step " << step;
            if (step % 100 == 0)
                check_memory();
            if (below(50) == 0) {
                PlainKey& key = keys[below(keys.size())];
                if (key.alive) {
                    // Its old value is stale from here on.
                    const Mkey renewed = hca.reissue_mkey(key.key);
                    if (below(2) == 0)
                        key.key = renewed;
                    else
                        key.alive = false;
                }
            }
            if (step % 500 == 499)
                make_keys();
        }
        check_memory();
    }
    EXPECT_GT(succeeded, 2000u);
    EXPECT_GT(failed, 1000u);
    EXPECT_GT(waited, 100u);
}

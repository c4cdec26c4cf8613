// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The ring: against a model, and against an other side that writes nonsense.
#include <hca/ring.hpp>
#include <hca/wire.hpp>

#include <mrzone/base.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mrz;
using namespace mrz::hca;

namespace {

class WireRing : public ::testing::Test {
  protected:
    static constexpr std::size_t size = 64 << 10;

    static Packet packet(std::uint32_t payload, std::uint64_t number = 0)
    {
        Packet made;
        made.payload = payload;
        made.address = number;
        return made;
    }
    bool write(std::uint32_t payload, std::uint64_t number = 0)
    {
        std::vector<std::byte> bytes(payload);
        for (std::uint32_t i = 0; i < payload; ++i)
            bytes[i] = byte_of(number, i);
        const Piece piece{bytes.data(), payload};
        return writer.write(packet(payload, number), {&piece, payload == 0 ? 0u : 1u});
    }
    static std::byte byte_of(std::uint64_t number, std::uint32_t place)
    {
        return static_cast<std::byte>(number * 13 + place * 7 + place / 256);
    }

    std::unique_ptr<RingControl> control = std::make_unique<RingControl>();
    std::vector<std::byte> data = std::vector<std::byte>(size);
    RingWriter writer{*control, data.data(), size};
    RingReader reader{*control, data.data(), size};
    Packet seen;
};

} // namespace

TEST_F(WireRing, CarriesPacketsOfAnySizeInOrderAsAModelDoes)
{
    std::mt19937 random{7};
    std::deque<std::uint32_t> model; // payloads under way
    std::size_t used = 0;
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    for (int step = 0; step < 20'000; ++step) {
        if (random() % 2 == 0) {
            const auto payload =
                static_cast<std::uint32_t>(random() % 3 == 0 ? random() % (most_payload + 1) : random() % 200);
            const bool fits = used + ring_bytes_of(payload) <= size;
            ASSERT_EQ(writer.has_room(payload), fits);
            if (!fits)
                continue;
            EXPECT_FALSE(write(payload, written++));
            model.push_back(payload);
            used += ring_bytes_of(payload);
        } else {
            const RingReader::Next next = reader.peek(seen);
            ASSERT_EQ(next, model.empty() ? RingReader::Next::nothing : RingReader::Next::packet);
            if (model.empty())
                continue;
            ASSERT_EQ(seen.payload, model.front());
            ASSERT_EQ(seen.address, read);
            std::uint32_t place = 0;
            const RingPieces payload = reader.payload();
            for (const Piece& piece : payload.span()) {
                for (std::uint64_t i = 0; i < piece.length; ++i)
                    ASSERT_EQ(piece.data[i], byte_of(read, place++));
            }
            ASSERT_EQ(place, seen.payload);
            ++read;
            reader.pop();
            used -= ring_bytes_of(model.front());
            model.pop_front();
        }
    }
    EXPECT_GT(written, 5'000u);
}

TEST_F(WireRing, WakesAReaderThatSleepsOnce)
{
    EXPECT_TRUE(reader.sleep());
    EXPECT_TRUE(write(0));
    EXPECT_FALSE(write(0)) << "it was woken";
    EXPECT_FALSE(reader.sleep()) << "there is something";
}

TEST_F(WireRing, WakesAWriterWhenHalfOfItIsFree)
{
    int packets = 0;
    while (writer.has_room(most_payload)) {
        EXPECT_FALSE(write(most_payload));
        ++packets;
    }
    EXPECT_TRUE(writer.sleep());
    EXPECT_FALSE(reader.wakes_writer());
    int read = 0;
    bool woken = false;
    while (!woken && read < packets) {
        ASSERT_EQ(reader.peek(seen), RingReader::Next::packet);
        reader.pop();
        ++read;
        woken = reader.wakes_writer();
    }
    EXPECT_TRUE(woken);
    EXPECT_GE(read, packets / 2);
    EXPECT_FALSE(reader.wakes_writer()) << "once";
    EXPECT_FALSE(writer.sleep()) << "half of it is free";
    EXPECT_TRUE(writer.has_room(most_payload));
}

TEST_F(WireRing, BelievesNoCountThatCannotBe)
{
    for (const std::uint64_t written : {size + 64ULL, ~0ULL, 1ULL, 63ULL, 1ULL << 63}) {
        control->written.store(written);
        RingReader fresh{*control, data.data(), size};
        EXPECT_EQ(fresh.peek(seen), RingReader::Next::nonsense) << written;
    }
}

TEST_F(WireRing, BelievesNoPayloadThatIsNotThere)
{
    for (const std::uint32_t payload : {1U, 64U, 4096U, static_cast<std::uint32_t>(most_payload), ~0U, 1U << 31}) {
        const Packet lying = packet(payload);
        std::memcpy(data.data(), &lying, sizeof lying);
        control->written.store(sizeof lying);
        RingReader fresh{*control, data.data(), size};
        EXPECT_EQ(fresh.peek(seen), RingReader::Next::nonsense) << payload;
    }
    const Packet large = packet(static_cast<std::uint32_t>(most_payload) + 1);
    std::memcpy(data.data(), &large, sizeof large);
    control->written.store(size);
    RingReader fresh{*control, data.data(), size};
    EXPECT_EQ(fresh.peek(seen), RingReader::Next::nonsense) << "there, but larger than any";
}

TEST_F(WireRing, AWriterBelievesNoReaderThatReadWhatIsNotThere)
{
    while (writer.has_room(most_payload))
        static_cast<void>(write(most_payload));
    EXPECT_FALSE(writer.broken());
    control->read.store(size * 2);
    EXPECT_FALSE(writer.has_room(most_payload));
    EXPECT_TRUE(writer.broken());
    control->read.store(0);
    EXPECT_FALSE(writer.has_room(0)) << "for good";
}

TEST_F(WireRing, AWriterBelievesNoReaderThatGoesBack)
{
    EXPECT_FALSE(write(most_payload));
    ASSERT_EQ(reader.peek(seen), RingReader::Next::packet);
    reader.pop();
    while (writer.has_room(most_payload))
        static_cast<void>(write(most_payload));
    control->read.store(0);
    EXPECT_FALSE(writer.has_room(most_payload));
    EXPECT_TRUE(writer.broken());
}

TEST(WireMemory, IsTakenOnlySealedAndOfTheRightSize)
{
    const auto refused = [](FileDescriptor descriptor) {
        try {
            const WireMemory taken = WireMemory::adopt(std::move(descriptor));
        } catch (const Error& error) {
            return error.error_number() == EPROTO && error.cause().trouble == Trouble::data;
        }
        return false;
    };
    const auto memory = [](std::size_t bytes, int seals) {
        FileDescriptor made{::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
        EXPECT_EQ(::ftruncate(made.get(), static_cast<off_t>(bytes)), 0);
        EXPECT_EQ(::fcntl(made.get(), F_ADD_SEALS, seals), 0);
        return made;
    };
    const std::size_t right = 4096 + 2 * WireMemory::ring_bytes;
    EXPECT_TRUE(refused(memory(right, F_SEAL_GROW)));
    EXPECT_TRUE(refused(memory(right, F_SEAL_SHRINK)));
    EXPECT_TRUE(refused(memory(right - 1, F_SEAL_SHRINK | F_SEAL_GROW)));
    EXPECT_TRUE(refused(memory(right + 4096, F_SEAL_SHRINK | F_SEAL_GROW)));
    EXPECT_TRUE(refused(FileDescriptor{::open("/dev/zero", O_RDWR | O_CLOEXEC)}));
    EXPECT_FALSE(refused(memory(right, F_SEAL_SHRINK | F_SEAL_GROW)));
    EXPECT_THROW(static_cast<void>(WireMemory::adopt(memory(right, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))),
                 Error)
        << "it cannot be written to";
}

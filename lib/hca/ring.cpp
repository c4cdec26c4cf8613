// SPDX-License-Identifier: BSD-3-Clause
#include <hca/ring.hpp>

#include <algorithm>
#include <cstring>

namespace mrz::hca {
namespace {

RingPieces pieces_at(std::byte* data, std::size_t size, std::uint64_t at, std::size_t length) noexcept
{
    const std::size_t offset = at & (size - 1);
    const std::size_t first = std::min(length, size - offset);
    RingPieces result;
    if (first != 0)
        result.pieces[result.count++] = {data + offset, first};
    if (length != first)
        result.pieces[result.count++] = {data, length - first};
    return result;
}

} // namespace

std::uint64_t RingWriter::used() noexcept
{
    const std::uint64_t read = control_.read.load(std::memory_order_seq_cst);
    // Never back, and never beyond what was written.
    if (read - read_ > written_ - read_)
        broken_ = true;
    else
        read_ = read;
    return written_ - read_;
}

bool RingWriter::has_room(std::size_t payload) noexcept
{
    const std::size_t need = ring_bytes_of(payload);
    if (size_ - (written_ - read_) < need)
        static_cast<void>(used());
    return !broken_ && size_ - (written_ - read_) >= need;
}

bool RingWriter::write(const Packet& packet, std::span<const Piece> payload) noexcept
{
    std::memcpy(data_ + (written_ & (size_ - 1)), &packet, sizeof packet);
    if (packet.payload != 0)
        copy(pieces_at(data_, size_, written_ + sizeof packet, packet.payload).span(), payload);
    written_ += ring_bytes_of(packet.payload);
    // Sequentially consistent, as is the reader's part: either it sees this or this sees that it sleeps.
    control_.written.store(written_, std::memory_order_seq_cst);
    return control_.reader_sleeps.load(std::memory_order_seq_cst) != 0 && control_.reader_sleeps.exchange(0) != 0;
}

bool RingWriter::sleep() noexcept
{
    control_.writer_sleeps.store(1, std::memory_order_seq_cst);
    return used() > size_ / 2 && !broken_;
}

RingReader::Next RingReader::peek(Packet& packet) noexcept
{
    const std::uint64_t read = read_.load(std::memory_order_relaxed);
    std::uint64_t there = written_ - read;
    if (there == 0) {
        written_ = control_.written.load(std::memory_order_acquire);
        there = written_ - read;
        if (there == 0)
            return Next::nothing;
    }
    if (there > size_ || there < sizeof packet)
        return Next::nonsense;
    std::memcpy(&packet, data_ + (read & (size_ - 1)), sizeof packet);
    if (packet.payload > most_payload || ring_bytes_of(packet.payload) > there)
        return Next::nonsense;
    payload_ = packet.payload;
    return Next::packet;
}

RingPieces RingReader::payload() const noexcept
{
    return pieces_at(data_, size_, read_.load(std::memory_order_relaxed) + sizeof(Packet), payload_);
}

void RingReader::pop() noexcept
{
    const std::uint64_t read = read_.load(std::memory_order_relaxed) + ring_bytes_of(payload_);
    read_.store(read, std::memory_order_relaxed);
    control_.read.store(read, std::memory_order_release);
}

bool RingReader::wakes_writer() noexcept
{
    const std::uint64_t read = read_.load(std::memory_order_relaxed);
    control_.read.store(read, std::memory_order_seq_cst);
    return control_.writer_sleeps.load(std::memory_order_seq_cst) != 0 &&
           control_.written.load(std::memory_order_relaxed) - read <= size_ / 2 &&
           control_.writer_sleeps.exchange(0) != 0;
}

bool RingReader::sleep() noexcept
{
    control_.reader_sleeps.store(1, std::memory_order_seq_cst);
    return control_.written.load(std::memory_order_seq_cst) == read_.load(std::memory_order_relaxed);
}

} // namespace mrz::hca

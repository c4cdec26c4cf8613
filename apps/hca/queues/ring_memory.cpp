// SPDX-License-Identifier: BSD-3-Clause
#include "queues/ring_memory.hpp"

#include "layouts/rmpc.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace mrz::queues {
namespace {

using firmware::Refusal;
using firmware::Status;
using firmware::Umem;
using layouts::get;
using layouts::is_set;
using layouts::part;

constexpr unsigned adapter_page_shift = 12;
constexpr std::size_t pas_bytes = 8;
constexpr std::uint64_t record_bytes = 8;

dma::PageList listed(const RingPlace& place)
{
    const unsigned shift = adapter_page_shift + place.log_page_size;
    const std::uint64_t offset = place.page_offset << (shift - 6);
    const std::uint64_t count = ((offset + place.bytes - 1) >> shift) + 1;
    if (place.pas.size() / pas_bytes < count)
        throw Refusal{Status::bad_inp_len, "the queue has " + std::to_string(count) + " pages, and " +
                                               std::to_string(place.pas.size() / pas_bytes) + " are listed"};
    const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
    std::vector<DmaAddress> pages;
    pages.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t page = get(place.pas.subspan(i * pas_bytes, pas_bytes), {0, 64});
        if ((page & mask) != 0)
            throw Refusal{Status::bad_param, format_hex(page) + " is no page of " + format_size(mask + 1)};
        pages.emplace_back(page);
    }
    return {std::move(pages), shift, offset};
}

// A part of a umem, as a list of its own.
dma::PageList within(const Umem& umem, std::uint64_t at, std::uint64_t bytes)
{
    const dma::PageList& all = umem.pages();
    if (at > all.bytes() || bytes > all.bytes() - at)
        throw Refusal{Status::bad_param, "the queue reaches over the end of its umem of " + format_size(all.bytes())};
    if (!umem.writable())
        throw Refusal{Status::bad_param, "the queue's umem may not be written to"};
    const unsigned shift = all.page_shift();
    const std::uint64_t begin = all.offset() + at;
    const std::uint64_t first = begin >> shift;
    // As few as it needs: each of a user's many queues may lie in one large umem.
    const auto pages = all.pages().subspan(first, ((begin + bytes - 1) >> shift) - first + 1);
    return {std::vector<DmaAddress>(pages.begin(), pages.end()), shift, begin & ((std::uint64_t{1} << shift) - 1)};
}

} // namespace

RingPlace place_of_work_queue(std::span<const std::byte> in, std::size_t at, std::uint64_t bytes)
{
    namespace wq = layouts::wq;
    const auto queue = in.subspan(std::min(at, in.size()));
    RingPlace place;
    place.bytes = bytes;
    place.pas = part(queue, wq::pas);
    place.log_page_size = static_cast<unsigned>(get(queue, wq::log_wq_pg_sz));
    place.page_offset = get(queue, wq::page_offset);
    place.umem = is_set(queue, wq::wq_umem_valid);
    place.umem_id = static_cast<std::uint32_t>(get(queue, wq::wq_umem_id));
    place.umem_offset = get(queue, wq::wq_umem_offset);
    place.record = get(queue, wq::dbr_addr);
    place.record_umem = is_set(queue, wq::dbr_umem_valid);
    place.record_umem_id = static_cast<std::uint32_t>(get(queue, wq::dbr_umem_id));
    return place;
}

RingMemory find_ring(const firmware::Objects& objects, std::uint16_t uid, const RingPlace& place)
{
    RingMemory memory;
    if (place.bytes == 0)
        return memory;
    if (!place.umem) {
        memory.pages = listed(place);
        return memory;
    }
    auto umem = objects.use<Umem>(place.umem_id, uid);
    memory.pages = within(*umem, place.umem_offset, place.bytes);
    memory.umems.push_back(std::move(umem));
    return memory;
}

RingMemory find_memory(const firmware::Objects& objects, std::uint16_t uid, const RingPlace& place)
{
    RingMemory memory = find_ring(objects, uid, place);
    std::uint64_t record = place.record;
    if (place.record_umem) {
        auto umem = objects.use<Umem>(place.record_umem_id, uid);
        const auto first = umem->pages().address(record);
        if (!first || umem->pages().bytes() - record < record_bytes)
            throw Refusal{Status::bad_param, "the doorbell record reaches over the end of its umem"};
        record = first->value();
        memory.umems.push_back(std::move(umem));
    }
    if (record % record_bytes != 0)
        throw Refusal{Status::bad_param,
                      "a doorbell record is aligned to 8 bytes, and " + format_hex(record) + " is not"};
    memory.record = DmaAddress{record};
    return memory;
}

} // namespace mrz::queues

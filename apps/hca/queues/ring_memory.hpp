// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Where a command says that a ring and its doorbell record lie.
#pragma once

#include "dma/pages.hpp"
#include "firmware/context.hpp"
#include "firmware/umems.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mrz::queues {

//! Memory of a queue, and the umems that it is in, if any, which stay as long as it does.
struct RingMemory {
    dma::PageList pages;
    DmaAddress record;
    std::vector<firmware::Use<firmware::Umem>> umems;
};

//! What a command says of them.
struct RingPlace {
    std::uint64_t bytes = 0; //!< Of the ring.

    // By pages in the command:
    std::span<const std::byte> pas; //!< Addresses of 8 bytes, to the end of the command.
    unsigned log_page_size = 0;     //!< Of the adapter's pages of 4 KiB.
    std::uint64_t page_offset = 0;  //!< In units of page_size / 64.

    bool umem = false; //!< By umem instead:
    std::uint32_t umem_id = 0;
    std::uint64_t umem_offset = 0;

    std::uint64_t record = 0; //!< An address, or where in its umem it is.
    bool record_umem = false;
    std::uint32_t record_umem_id = 0;
};

//! Of a work queue, whose context (layouts::wq) begins \p at bytes into the command.
[[nodiscard]] RingPlace place_of_work_queue(std::span<const std::byte> in, std::size_t at, std::uint64_t bytes);

//! Throws Refusal: bad_param, bad_inp_len (too few pages), bad_res (no such umem).
[[nodiscard]] RingMemory find_memory(const firmware::Objects& objects, std::uint16_t uid, const RingPlace& place);
//! The ring only.
[[nodiscard]] RingMemory find_ring(const firmware::Objects& objects, std::uint16_t uid, const RingPlace& place);

} // namespace mrz::queues

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The memory that is read into and written from, by its pages, and the store at the other end.
#pragma once

#include <common/work_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace bench::storage {

enum class Pages {
    small, //!< 4 KiB, for certain.
    huge,  //!< 2 MiB: a zone of an arena.
};
std::string_view name(Pages pages) noexcept;

using Memory = mrz::app::WorkMemory;
//! Of huge pages one can be had in the life of a process, since it starts an EAL; it reserves hugepages for as long
//! as it lives. Throws mrz::Error.
std::unique_ptr<Memory> make_memory(Pages pages, std::size_t length);
//! Of pages as large as the kernel makes by itself, so that the far end costs as little as it can.
std::unique_ptr<Memory> make_store(std::size_t length);

//! What the kernel says that it keeps in place for this process, in bytes.
struct KeptInPlace {
    std::uint64_t pinned = 0; //!< By devices (VmPin).
    std::uint64_t locked = 0; //!< By mlock (VmLck).
};
KeptInPlace kept_in_place();

} // namespace bench::storage

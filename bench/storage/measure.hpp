// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The storage workload with each tier, size and depth in turn, in rounds.
#pragma once

#include "memory.hpp"

#include <common/tiers.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench::storage {

using mrz::app::Holdings;
using mrz::app::TierKind;

struct Settings {
    std::string device = "any";
    std::vector<std::size_t> sizes;  //!< Of an operation, in bytes.
    std::vector<std::size_t> depths; //!< Operations under way.
    std::vector<Pages> pages;
    std::size_t memory = 0;     //!< Bytes.
    std::size_t cache = 0;      //!< Bytes that a cache may pin.
    std::size_t operations = 0; //!< A round, about; fewer of large ones.
    unsigned read_percent = 0;
    unsigned rounds = 0;
    bool scattered = false; //!< Hot memory is single blocks, not pieces of 2 MiB.
};

//! What came of one tier with one size, depth and kind of pages. Vectors: a value a round.
struct Result {
    Pages pages = Pages::small;
    std::size_t size = 0;
    std::size_t depth = 0;
    TierKind tier = TierKind::each_time;
    std::size_t operations = 0; //!< A round.
    std::vector<double> operations_per_second = {};
    std::vector<double> ratio = {};             //!< To registering each time, in the same round.
    std::vector<double> processor_seconds = {}; //!< Of all threads, an operation.
    std::vector<std::uint32_t> latencies = {};  //!< Nanoseconds, of all rounds together, ascending.
    // Of the last round, when its last operations were under way.
    Holdings holdings = {};
    std::uint64_t kept_in_place = 0; //!< That the kernel counts.
    std::uint64_t hits = 0;          //!< Of a cache, in all rounds together; and what follows.
    std::uint64_t misses = 0;
    std::uint64_t evictions = 0;
    std::uint64_t merges = 0;
    std::uint64_t waits = 0;
};

struct Report {
    Settings settings;
    std::string device, driver, reason;
    bool frames = false; //!< The device's entries are frames.
    enum class Kept {
        pinned, //!< As for a NIC; the kernel counts it as VmPin.
        locked, //!< By mlock, as VmLck.
        unseen  //!< The kernel does not tell.
    } kept = Kept::unseen;
    std::uint64_t checked_bytes = 0; //!< That were compared with what they had to be.
    std::vector<Result> results;
};

//! Throws mrz::Error; std::runtime_error if bytes are not what they should be; mrz::app::Interrupted.
Report measure(const Settings& settings);

} // namespace bench::storage

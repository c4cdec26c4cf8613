// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What is measured, as both ends must know it, and as JSON between them.
#pragma once

#include "common/output.hpp"
#include "common/tiers.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mrz::perf {

using app::Json;
using app::TierKind;

enum class Operation { write, read, send, atomic };
enum class AtomicKind { fetch_and_add, compare_and_swap };
//! Which piece of memory an operation uses.
enum class Order {
    sequential,
    hot, //!< 80 % of operations use 20 % of the memory, as a storage system's.
};

//! Of all of a client's session.
struct Settings {
    Operation operation = Operation::write;
    AtomicKind atomic = AtomicKind::fetch_and_add;
    bool latency = false;       //!< Else bandwidth.
    bool bidirectional = false; //!< Both ends begin operations.
    bool verify = false;
    Order order = Order::sequential;
    unsigned threads = 1;
    unsigned queue_pairs = 1; //!< A thread.
    unsigned depth = 128;     //!< Operations of a queue pair under way, at most.
    unsigned receives = 512;  //!< Receives of a queue pair that wait, at most.
    unsigned inline_bytes = 0;
    unsigned signal_every = 1;
    std::size_t memory = 0;  //!< Bytes of a queue pair at each end, for either direction.
    std::size_t largest = 0; //!< Bytes of the largest operation.
    std::size_t cache = 0;   //!< Bytes of a queue pair's memory that a cache may keep registered.

    [[nodiscard]] unsigned streams() const noexcept { return threads * queue_pairs; }
    //! Whether the server begins operations of its own, too.
    [[nodiscard]] bool both_begin() const noexcept
    {
        return bidirectional || (latency && (operation == Operation::write || operation == Operation::send));
    }
};

//! One measurement.
struct Step {
    std::size_t size = 0; //!< Bytes of an operation.
    TierKind registration = TierKind::resident;
    std::uint64_t operations = 0;         //!< Of each queue pair; 0: for a time.
    std::chrono::milliseconds duration{}; //!< If operations is 0.
    std::uint64_t seed = 0;               //!< Of the bytes that are moved.
};

inline constexpr std::size_t largest_operation = std::size_t{1} << 30;
inline constexpr unsigned most_streams = 128;
inline constexpr unsigned most_depth = 8192;
inline constexpr std::uint64_t most_operations = 1'000'000'000'000;
inline constexpr std::chrono::hours longest{24};

//! "write", "read", "send", "atomic".
std::string_view word(Operation operation) noexcept;
//! As the option --registration has it: "each", "temporary", "batch", "resident".
std::string_view word(TierKind registration) noexcept;

//! Throws Error (invalid, EINVAL) for what makes no sense: of the user's, or of a peer's.
void check(const Settings& settings);
void check(const Step& step, const Settings& settings);

Json to_json(const Settings& settings);
Json to_json(const Step& step);
//! Throw Error (peer, EPROTO) for what is no such thing, or makes no sense.
Settings settings_from(const Json& json);
Step step_from(const Json& json, const Settings& settings);

} // namespace mrz::perf

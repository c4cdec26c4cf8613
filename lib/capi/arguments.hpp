// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What C calls have in common: their arguments are checked here, and their results handed out.
//! All of it throws Error (invalid, EINVAL) for what cannot be; the wall (guard.hpp) is around.
#pragma once

#include "guard.hpp"

#include <mrzone/base.hpp>
#include <mrzone/mrzone.h>
#include <mrzone/region.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mrz::capi {

[[noreturn]] void refuse(std::string what, std::string remedy);

//! A string that is not NULL.
const char* checked_name(const char* name);

//! The rights of a C call. Refuses bits that mean nothing.
Access checked_access(std::uint32_t access);

//! What the caller knows of \p options, which begin with their size, and zero for what it does not: its struct may be
//! older than ours. Throws E2BIG if a newer caller asks for what we do not know.
void read_struct(void* known, std::size_t known_size, const void* options, std::string_view name);
template <class Options>
Options known_options(const Options* options, std::string_view name)
{
    Options known{};
    read_struct(&known, sizeof known, options, name);
    return known;
}

//! Whether a struct can be filled, before what is done that it will tell of.
void check_struct(const void* out, std::string_view name);
//! Fills the caller's struct, which begins with its size, no further than that. struct_size stays what it is.
void write_struct(void* out, const void* filled, std::size_t known_size, std::string_view name);
template <class Info>
void fill(Info* out, const Info& filled, std::string_view name)
{
    write_struct(out, &filled, sizeof filled, name);
}

//! What a peer is to be given.
void fill(mrz_remote_region* out, const RemoteRegion& remote);

inline std::uint64_t nanoseconds(std::chrono::nanoseconds time) noexcept
{
    return static_cast<std::uint64_t>(time.count());
}

inline mrz_tier_counts counts_of(const TierSnapshot& tier) noexcept
{
    return {.regions = tier.regions,
            .bytes = tier.bytes,
            .pinned_bytes = tier.pinned_bytes,
            .keys = tier.keys,
            .mtt_entries = tier.mtt_entries,
            .indirect_entries = tier.indirect_entries};
}

//! As snprintf: gives \p line as far as it fits, and its whole length.
int give_text(std::string_view line, char* text, std::size_t size);

//! Runs \p make, which gives a pointer, and hands that out; \p out becomes NULL on any failure.
template <class Object, class Make>
int hand_out(Object** out, Make&& make) noexcept
{
    if (out != nullptr)
        *out = nullptr;
    return guarded([&] {
        if (out == nullptr)
            refuse("the pointer that is to receive the result is NULL", "give the address of a pointer");
        *out = std::forward<Make>(make)();
        return 0;
    });
}

} // namespace mrz::capi

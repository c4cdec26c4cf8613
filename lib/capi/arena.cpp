// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "guard.hpp"

#include <mrzone/zone.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

struct mrz_arena {
    mrz::Arena arena;
};

namespace {

using mrz::capi::guarded;

mrz::Error bad_argument(const char* what, const char* remedy)
{
    return {EINVAL, {.trouble = mrz::Trouble::invalid, .what = what, .limit = "", .remedy = remedy}};
}

const char* checked_name(const char* name)
{
    if (name == nullptr)
        throw bad_argument("the arena's name is NULL", "give a name of 1 to 31 characters");
    return name;
}

mrz_arena& checked(mrz_arena* arena)
{
    if (arena == nullptr)
        throw bad_argument("the arena is NULL", "give what mrz_arena_build() or mrz_arena_attach() made");
    return *arena;
}

//! Runs \p make and hands the arena out; \p out is NULL on any failure.
template <class Make>
int hand_out(mrz_arena** out, Make&& make) noexcept
{
    if (out != nullptr)
        *out = nullptr;
    return guarded([&] {
        if (out == nullptr)
            throw bad_argument("the pointer to receive the arena is NULL", "give the address of an mrz_arena *");
        *out = new mrz_arena{make()};
        return 0;
    });
}

//! What the caller knows of the options, and zero for what it does not: its struct may be older than ours.
mrz_arena_options known_options(const mrz_arena_options* options)
{
    if (options == nullptr || options->struct_size < sizeof options->struct_size)
        throw bad_argument("the arena's options are NULL or have no struct_size",
                           "set struct_size to sizeof(struct mrz_arena_options)");
    mrz_arena_options known{};
    if (options->struct_size > sizeof known) {
        // A newer caller: what we do not know must not be asked for.
        const auto* bytes = reinterpret_cast<const unsigned char*>(options);
        if (std::any_of(bytes + sizeof known, bytes + options->struct_size, [](unsigned char b) { return b != 0; }))
            throw mrz::Error{E2BIG,
                             {.trouble = mrz::Trouble::invalid,
                              .what = "the options ask for what this version of mrzone does not know",
                              .limit = "size of struct mrz_arena_options in bytes",
                              .present = sizeof known,
                              .need = options->struct_size,
                              .remedy = "install the library that the program was built with"}};
    }
    std::memcpy(&known, options, std::min(options->struct_size, sizeof known));
    if (known.node_plus_one < 0 || known.reserved != 0)
        throw bad_argument("the arena's options have a node_plus_one below 0, or a reserved that is not 0",
                           "set the whole struct to zero before its members");
    return known;
}

} // namespace

int mrz_arena_build(const char* name, const mrz_arena_options* options, mrz_arena** out)
{
    return hand_out(out, [&] {
        const mrz_arena_options known = known_options(options);
        mrz::ArenaOptions arena_options{.size = known.size};
        if (known.page_size != 0)
            arena_options.page_size = known.page_size;
        if (known.node_plus_one != 0)
            arena_options.node = known.node_plus_one - 1;
        arena_options.threads = known.threads;
        if (known.exact != 0)
            arena_options.slack_percent = 0;
        return mrz::Arena::build(checked_name(name), arena_options);
    });
}

int mrz_arena_attach(const char* name, mrz_arena** out)
{
    return hand_out(out, [&] { return mrz::Arena::attach(checked_name(name)); });
}

int mrz_arena_grow(mrz_arena* arena, uint64_t size)
{
    return guarded([&] {
        checked(arena).arena.grow(size);
        return 0;
    });
}

int mrz_arena_refresh(mrz_arena* arena)
{
    return guarded([&] {
        checked(arena).arena.refresh();
        return 0;
    });
}

int mrz_arena_socket_id(const mrz_arena* arena)
{
    return guarded([&] { return checked(const_cast<mrz_arena*>(arena)).arena.socket_id(); });
}

int mrz_arena_explain(const mrz_arena* arena, char* text, size_t size)
{
    return guarded([&] {
        const std::string lines = checked(const_cast<mrz_arena*>(arena))
                                      .arena.explain({.max_page_shift = mrz::host::max_registration_shift()});
        if (size > 0) {
            if (text == nullptr)
                throw bad_argument("the text's buffer is NULL", "give a buffer, or size 0");
            text[lines.copy(text, size - 1)] = '\0';
        }
        return static_cast<int>(lines.size());
    });
}

int mrz_arena_close(mrz_arena* arena)
{
    return guarded([&] {
        checked(arena).arena.close();
        return 0;
    });
}

void mrz_arena_destroy(mrz_arena* arena)
{
    delete arena;
}

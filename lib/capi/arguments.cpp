// SPDX-License-Identifier: BSD-3-Clause
#include "arguments.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace mrz::capi {
namespace {

static_assert(MRZ_ACCESS_LOCAL_READ == static_cast<int>(Access::local_read));
static_assert(MRZ_ACCESS_LOCAL_WRITE == static_cast<int>(Access::local_write));
static_assert(MRZ_ACCESS_REMOTE_READ == static_cast<int>(Access::remote_read));
static_assert(MRZ_ACCESS_REMOTE_WRITE == static_cast<int>(Access::remote_write));
static_assert(MRZ_ACCESS_REMOTE_ATOMIC == static_cast<int>(Access::remote_atomic));
constexpr std::uint32_t all_rights =
    MRZ_ACCESS_LOCAL_WRITE | MRZ_ACCESS_REMOTE_READ | MRZ_ACCESS_REMOTE_WRITE | MRZ_ACCESS_REMOTE_ATOMIC;

// No struct of ours will ever be as large: a size beyond was never set.
constexpr std::size_t largest_struct = 4096;

std::size_t checked_size(const void* object, std::string_view name)
{
    std::size_t size = 0;
    if (object != nullptr)
        std::memcpy(&size, object, sizeof size);
    if (size < sizeof size || size > largest_struct)
        refuse("a struct " + std::string{name} + " is NULL, or its struct_size is not set",
               "set struct_size to sizeof(struct " + std::string{name} + ")");
    return size;
}

} // namespace

void refuse(std::string what, std::string remedy)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid, .what = std::move(what), .limit = "", .remedy = std::move(remedy)}};
}

const char* checked_name(const char* name)
{
    if (name == nullptr)
        refuse("the name is NULL", "give a name of 1 to 31 characters");
    return name;
}

Access checked_access(std::uint32_t access)
{
    if ((access & ~all_rights) != 0)
        refuse("rights " + format_hex(access) + " have bits that mean nothing, " + format_hex(access & ~all_rights),
               "combine values of enum mrz_access");
    return static_cast<Access>(access);
}

void read_struct(void* known, std::size_t known_size, const void* options, std::string_view name)
{
    const std::size_t size = checked_size(options, name);
    if (size > known_size) {
        const auto* bytes = static_cast<const unsigned char*>(options);
        if (std::any_of(bytes + known_size, bytes + size, [](unsigned char byte) { return byte != 0; }))
            throw Error{E2BIG,
                        {.trouble = Trouble::invalid,
                         .what = "the options ask for what this version of mrzone does not know",
                         .limit = "size of struct " + std::string{name} + " in bytes",
                         .present = known_size,
                         .need = size,
                         .remedy = "install the library that the program was built with"}};
    }
    std::memcpy(known, options, std::min(size, known_size));
}

void check_struct(const void* out, std::string_view name)
{
    static_cast<void>(checked_size(out, name));
}

void write_struct(void* out, const void* filled, std::size_t known_size, std::string_view name)
{
    const std::size_t size = std::min(checked_size(out, name), known_size);
    std::memcpy(static_cast<char*>(out) + sizeof size, static_cast<const char*>(filled) + sizeof size,
                size - sizeof size);
}

int give_text(std::string_view line, char* text, std::size_t size)
{
    if (size > 0) {
        if (text == nullptr)
            refuse("the text's buffer is NULL", "give a buffer, or size 0");
        text[line.copy(text, size - 1)] = '\0';
    }
    return static_cast<int>(line.size());
}

} // namespace mrz::capi

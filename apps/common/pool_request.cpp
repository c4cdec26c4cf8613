// SPDX-License-Identifier: BSD-3-Clause
#include "pool_request.hpp"

#include "size.hpp"

#include <mrzone/base.hpp>

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <charconv>

namespace mrz::app {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view limit)
{
    throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                              .what = fmt::format("the pool \"{}\"", text),
                              .limit = std::string{limit},
                              .remedy = "write it as SIZE@PAGE[,node=N], for example 2G@2M,node=0"}};
}

int parse_node(std::string_view whole, std::string_view option)
{
    constexpr std::string_view key = "node=";
    if (!option.starts_with(key))
        refuse(whole, "what follows the comma is node=N");
    option.remove_prefix(key.size());
    int node = -1;
    const auto [end, error] = std::from_chars(option.data(), option.data() + option.size(), node);
    if (error != std::errc{} || end != option.data() + option.size() || node < 0)
        refuse(whole, "a node is a number, 0 or more");
    return node;
}

} // namespace

PoolRequest parse_pool_request(std::string_view text)
{
    PoolRequest request;
    std::string_view rest = text;
    if (const auto comma = rest.find(','); comma != std::string_view::npos) {
        request.node = parse_node(text, rest.substr(comma + 1));
        rest = rest.substr(0, comma);
    }
    const auto at = rest.find('@');
    if (at == std::string_view::npos)
        refuse(text, "a page size, after an @");
    const std::size_t size = parse_size(rest.substr(0, at), "the pool's size");
    request.page_size = parse_size(rest.substr(at + 1), "the page size");
    if (!std::has_single_bit(request.page_size))
        refuse(text, "a page size is a power of two");
    if (size % request.page_size != 0)
        refuse(text, "the size is a multiple of the page size");
    request.pages = size / request.page_size;
    return request;
}

std::string to_string(const PoolRequest& request)
{
    return fmt::format("{}@{}{}", size_argument(request.pages * request.page_size), size_argument(request.page_size),
                       request.node ? fmt::format(",node={}", *request.node) : "");
}

std::string pool_name(std::size_t page_size, std::optional<int> node)
{
    std::string size = format_size(page_size);
    if (const auto space = size.find(' '); space != std::string::npos)
        size[space] = '-';
    return fmt::format("{} pages{}", size, node ? fmt::format(" of node {}", *node) : "");
}

} // namespace mrz::app

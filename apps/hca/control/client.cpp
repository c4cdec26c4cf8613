// SPDX-License-Identifier: BSD-3-Clause
#include "control/client.hpp"

#include "sockets/listener.hpp"

#include <mrzone/base.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <sys/socket.h>

namespace mrz::control {
namespace {

[[noreturn]] void fail(int error, Trouble trouble, std::string limit, std::string remedy)
{
    throw Error{
        error,
        {.trouble = trouble, .what = "asking mrz-hca", .limit = std::move(limit), .remedy = std::move(remedy)}};
}

std::optional<std::uint64_t> number(std::string_view text)
{
    const bool hexadecimal = text.starts_with("0x");
    if (hexadecimal)
        text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

void send(const FileDescriptor& socket, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t length = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
        if (length < 0 && errno != EINTR)
            fail(errno, Trouble::peer, "it does not listen any more", "see whether it runs");
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    }
}

std::string receive_line(const FileDescriptor& socket)
{
    std::string line;
    std::array<char, 4096> piece{};
    while (line.empty() || line.back() != '\n') {
        const ssize_t length = ::recv(socket.get(), piece.data(), piece.size(), 0);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            fail(EPIPE, Trouble::peer, "it ended before its answer did", "see whether it runs");
        line.append(piece.data(), static_cast<std::size_t>(length));
    }
    return line;
}

} // namespace

Json request_of(std::span<const std::string> words)
{
    if (words.size() < 2 || (words[0] != "get" && words[0] != "set"))
        fail(EINVAL, Trouble::invalid, "a request is \"get NAME\" or \"set NAME\", with ARGUMENT=VALUE...",
             "try: get commands");
    Json request{{words[0], words[1]}};
    for (const std::string& word : words.subspan(2)) {
        const std::size_t equals = word.find('=');
        if (equals == 0 || equals == std::string::npos || request.contains(word.substr(0, equals)))
            fail(EINVAL, Trouble::invalid, '"' + printable(word) + "\" is no ARGUMENT=VALUE, or there twice",
                 "try: get commands");
        const std::string value = word.substr(equals + 1);
        if (const auto as_number = number(value))
            request[word.substr(0, equals)] = *as_number;
        else
            request[word.substr(0, equals)] = value;
    }
    return request;
}

Json ask(const std::string& path, const Json& request)
{
    const FileDescriptor socket = sockets::connect(path);
    send(socket, request.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
    const Json reply = Json::parse(receive_line(socket), nullptr, false);
    if (reply.is_object() && reply.contains("answer"))
        return reply["answer"];
    if (reply.is_object() && reply.contains("error") && reply["error"].is_string())
        fail(static_cast<int>(number_of(reply, "errno", EIO, 4095)), Trouble::invalid,
             printable(reply["error"].get<std::string>()), "see: get commands");
    fail(EPROTO, Trouble::peer, "its answer is not understood", "let both be of one version");
}

} // namespace mrz::control

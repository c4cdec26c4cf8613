// SPDX-License-Identifier: BSD-3-Clause
#include "resources.hpp"

#include <mrzone/file_descriptor.hpp>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

namespace mrz::verbs {
namespace {

using Bytes = std::span<const std::byte>;

struct Attribute {
    std::uint16_t type;
    Bytes payload;
};

//! Takes the first attribute off \p bytes; nothing if there is none, or what is there makes no sense.
std::optional<Attribute> next_attribute(Bytes& bytes) noexcept
{
    nlattr head;
    if (bytes.size() < sizeof head)
        return std::nullopt;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > bytes.size())
        return std::nullopt;
    const Attribute attribute{static_cast<std::uint16_t>(head.nla_type & NLA_TYPE_MASK),
                              bytes.subspan(sizeof head, head.nla_len - sizeof head)};
    bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), NLA_ALIGN(head.nla_len)));
    return attribute;
}

std::string_view text_of(Bytes payload) noexcept
{
    std::string_view text{reinterpret_cast<const char*>(payload.data()), payload.size()};
    return text.substr(0, text.find('\0'));
}

// {name "mr", curr N}
std::optional<std::uint64_t> regions_in_entry(Bytes entry) noexcept
{
    bool is_regions = false;
    std::optional<std::uint64_t> count;
    while (const auto attribute = next_attribute(entry)) {
        if (attribute->type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME)
            is_regions = text_of(attribute->payload) == "mr";
        if (attribute->type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR &&
            attribute->payload.size() == sizeof(std::uint64_t)) {
            std::uint64_t value = 0;
            std::memcpy(&value, attribute->payload.data(), sizeof value);
            count = value;
        }
    }
    return is_regions ? count : std::nullopt;
}

std::optional<std::uint64_t> regions_in_message(Bytes attributes, std::string_view device) noexcept
{
    bool is_device = false;
    std::optional<std::uint64_t> count;
    while (const auto attribute = next_attribute(attributes)) {
        if (attribute->type == RDMA_NLDEV_ATTR_DEV_NAME)
            is_device = text_of(attribute->payload) == device;
        if (attribute->type != RDMA_NLDEV_ATTR_RES_SUMMARY)
            continue;
        Bytes entries = attribute->payload;
        while (const auto entry = next_attribute(entries))
            if (entry->type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY)
                if (const auto found = regions_in_entry(entry->payload))
                    count = found;
    }
    return is_device ? count : std::nullopt;
}

//! Calls \p take with each message's type and payload.
template <class Take>
void for_each_message(Bytes answer, const Take& take) noexcept
{
    nlmsghdr head;
    while (answer.size() >= sizeof head) {
        std::memcpy(&head, answer.data(), sizeof head);
        if (head.nlmsg_len < sizeof head || head.nlmsg_len > answer.size())
            return;
        take(head.nlmsg_type, answer.subspan(sizeof head, head.nlmsg_len - sizeof head));
        answer = answer.subspan(std::min<std::size_t>(answer.size(), NLMSG_ALIGN(head.nlmsg_len)));
    }
}

constexpr auto question_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET));

} // namespace

std::optional<std::uint64_t> regions_in(Bytes answer, std::string_view device) noexcept
{
    std::optional<std::uint64_t> count;
    for_each_message(answer, [&](std::uint16_t type, Bytes payload) {
        if (type == question_type)
            if (const auto found = regions_in_message(payload, device))
                count = found;
    });
    return count;
}

std::optional<std::uint64_t> regions_of(std::string_view device) noexcept
{
    const FileDescriptor socket{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA)};
    if (socket.get() < 0)
        return std::nullopt;
    const timeval patience{.tv_sec = 1, .tv_usec = 0}; // the kernel answers at once, or never
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    nlmsghdr question{};
    question.nlmsg_len = sizeof question;
    question.nlmsg_type = question_type;
    question.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (::send(socket.get(), &question, sizeof question, 0) != static_cast<ssize_t>(sizeof question))
        return std::nullopt;
    std::optional<std::uint64_t> count;
    for (bool done = false; !done;) {
        std::array<std::byte, 32768> answer;
        const ssize_t length = ::recv(socket.get(), answer.data(), answer.size(), 0);
        if (length <= 0)
            return count;
        const Bytes got{answer.data(), static_cast<std::size_t>(length)};
        if (const auto found = regions_in(got, device))
            count = found;
        for_each_message(got, [&](std::uint16_t type, Bytes) { done |= type == NLMSG_DONE || type == NLMSG_ERROR; });
    }
    return count;
}

} // namespace mrz::verbs

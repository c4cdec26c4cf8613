// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What two processes say to each other before there is a wire between them: messages of one length each.
#pragma once

#include <mrzone/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrz::hca {

//! Sends one message over a Unix socket of sequenced packets, with \p descriptor if that is one. Never blocks; false,
//! with errno, if the peer cannot be told.
bool send_message(int socket, std::span<const std::byte> message, int descriptor = -1) noexcept;

struct ReceivedMessage {
    //! other_form: of another length, or with more than one descriptor.
    enum class Result : std::uint8_t { nothing_yet, gone, other_form, message } result = Result::nothing_yet;
    FileDescriptor descriptor; //!< If one came along.
};
//! Fills \p message with one of just its length, which is 1024 bytes at most. Never blocks.
ReceivedMessage receive_message(int socket, std::span<std::byte> message);

} // namespace mrz::hca

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! RDMA connection management: identifiers of librdmacm and what it tells about them.
//!
//! Identifiers are used without librdmacm's own queue pairs. Those belong to a context that it opens for itself, and
//! cannot use regions and queue pairs of another; ours are of the domain's, which may be the application's own.
#pragma once

#include "address.hpp"
#include "context.hpp"

#include <rdma/rdma_cma.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace mrz::verbs {

using Clock = std::chrono::steady_clock;

//! When \p timeout from now is over.
Clock::time_point deadline_after(std::chrono::milliseconds timeout);

//! What was told, copied, and acknowledged by then: an identifier can be destroyed only when all it told is.
struct CmEvent {
    rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_RESOLVED;
    int status = 0;
    rdma_cm_id* id = nullptr; //!< About whom; a new one of a request to connect.
    std::array<std::byte, 255> data = {};
    std::uint8_t length = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;

    [[nodiscard]] std::span<const std::byte> private_data() const noexcept { return std::span{data}.first(length); }
};

//! Where identifiers tell what happens to them.
class CmChannel {
  public:
    //! Throws Error with the cause; \p doing says what it is for.
    explicit CmChannel(std::shared_ptr<Context> context, const std::string& doing);
    CmChannel(const CmChannel&) = delete;
    CmChannel& operator=(const CmChannel&) = delete;
    ~CmChannel();

    [[nodiscard]] rdma_event_channel* get() const noexcept { return channel_; }
    [[nodiscard]] const Context& context() const noexcept { return *context_; }
    //! The next event, or nothing until \p deadline. Throws Error (internal) if the kernel gives none any more.
    std::optional<CmEvent> wait(Clock::time_point deadline);

  private:
    std::shared_ptr<Context> context_;
    rdma_event_channel* channel_;
};

//! An identifier: a listener, or one end of a connection. Shares its channel with nobody but those that come of it.
class CmId {
  public:
    //! Throws Error with the cause.
    CmId(std::shared_ptr<CmChannel> channel, const std::string& doing);
    //! One that came with an event.
    CmId(std::shared_ptr<CmChannel> channel, rdma_cm_id* id) noexcept : channel_{std::move(channel)}, id_{id} {}
    CmId(CmId&& other) noexcept : channel_{std::move(other.channel_)}, id_{std::exchange(other.id_, nullptr)} {}
    CmId& operator=(CmId&&) = delete;
    ~CmId();

    [[nodiscard]] rdma_cm_id* get() const noexcept { return id_; }
    [[nodiscard]] CmChannel& channel() const noexcept { return *channel_; }
    [[nodiscard]] const std::shared_ptr<CmChannel>& shared_channel() const noexcept { return channel_; }
    //! Takes it to a channel of its own.
    void move_to(std::shared_ptr<CmChannel> channel, const std::string& doing);
    [[nodiscard]] std::string peer() const { return to_string(*::rdma_get_peer_addr(id_)); }
    //! Whether it is of the context's device.
    [[nodiscard]] bool is_of(const Context& context) const noexcept;

  private:
    std::shared_ptr<CmChannel> channel_;
    rdma_cm_id* id_;
};

//! The error of a call of librdmacm that failed with \p error.
Error cm_failure(int error, std::string doing);
//! The error of what was told in place of what should have happened. \p event none: nothing in time.
Error peer_failure(const std::optional<CmEvent>& event, std::string doing);

} // namespace mrz::verbs

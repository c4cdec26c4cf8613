// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What one client says, and what it gets.
#pragma once

#include "dma/memory.hpp"
#include "vfio_user/connection.hpp"
#include "vfio_user/device.hpp"
#include "vfio_user/vectors.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace mrz::vfio_user {

//! Runs a change of the guest's memory while nobody uses it.
using Exclusively = std::function<void(const std::function<void()>& change)>;

//! Everything that a client has to do with.
struct Served {
    Device& device;
    dma::Memory& memory;
    Vectors& vectors;
    Exclusively exclusively;
    std::uint64_t config_bytes = 4096; //!< 256 or 4096.
    std::uint64_t bar_bytes = 0;       //!< A power of two.
};

class Session {
  public:
    Session(Connection& connection, const Served& served) : connection_{connection}, served_{served} {}

    //! Until the client goes or is told to. Throws Error for a client that has to go: one that is not understood, or
    //! that does not share its memory. Leaves what the client set up as it is.
    void run();

  private:
    using Payload = std::span<const std::byte>;

    void answer(Message& message);
    void dispatch(Message& message);
    void version(Payload payload);
    void dma_map(Message& message);
    void dma_unmap(Payload payload);
    void device_get_info(Payload payload);
    void region_info(Payload payload);
    void irq_info(Payload payload);
    void set_irqs(Message& message);
    void region_read(Payload payload);
    void region_write(Payload payload);
    void region_write_multi(Payload payload);

    void write(std::uint32_t region, std::uint64_t offset, Payload bytes);
    void check_memory_is_shared() const;
    template <class T>
    void put(const T& answer)
    {
        const auto bytes = std::as_bytes(std::span{&answer, 1});
        reply_.insert(reply_.end(), bytes.begin(), bytes.end());
    }

    Connection& connection_;
    const Served& served_;
    bool agreed_ = false; //!< On a version.
    bool writes_many_ = false;
    unsigned refusals_ = 0;
    std::vector<std::byte> reply_;
};

} // namespace mrz::vfio_user

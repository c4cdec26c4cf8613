// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The command queue: slots and mailboxes in the guest's memory, and the thread that carries commands out.
#pragma once

#include "dma/dma.hpp"
#include "firmware/command.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace mrz::firmware {

//! Where the end of a command is told: the event queue that was made for it.
class CommandEvents {
  public:
    virtual ~CommandEvents() = default;
    //! Whether there is such an event queue.
    [[nodiscard]] virtual bool wanted() const = 0;
    //! Writes an event, of type 0xa, that says that the commands of \p slots are done.
    virtual void commands_done(std::uint32_t slots) = 0;
};

//! How an entry came to the firmware; what its status says. Linux's cmd.c, MLX5_CMD_DELIVERY_STAT_…
enum class Delivery : std::uint8_t {
    ok = 0x0,
    token_error = 0x2,
    bad_block_number = 0x3,
    output_pointer_error = 0x4,
    input_pointer_error = 0x5,
    input_length_error = 0x7,
    output_length_error = 0x8,
    descriptor_error = 0x10,
};

class CommandQueue {
  public:
    //! A command's input or output: enough for the pages of 2 GiB, and some.
    static constexpr std::size_t most_bytes = std::size_t{8} << 20;

    //! Slots of 2^\p log_stride bytes. \p events may be null; all outlive the queue.
    CommandQueue(dma::Bus& bus, const Commands& commands, CommandEvents* events, unsigned log_stride);
    ~CommandQueue();
    CommandQueue(const CommandQueue&) = delete;
    CommandQueue& operator=(const CommandQueue&) = delete;

    //! The slots of the queue at \p queue have commands. From any thread; returns at once.
    void ring(DmaAddress queue, std::uint32_t slots);
    //! Forgets what has not begun, and waits for the command that is being carried out. Nothing of the guest's memory
    //! is used afterwards, until somebody rings.
    void drop();
    //! Waits until all is done that was rung for.
    void wait();

    //! Runs \p look while no command is carried out.
    void between(const std::function<void()>& look);

    //! Carries out the command of one slot; for tests, and for the queue's own thread.
    void carry_out(DmaAddress queue, unsigned slot);

  private:
    void work();
    [[nodiscard]] Delivery carry_out_entry(DmaAddress at, std::span<std::byte> entry);
    [[nodiscard]] Delivery find_blocks(DmaAddress first, std::size_t count, std::uint64_t token,
                                       Delivery pointer_error, Delivery length_error,
                                       std::vector<DmaAddress>& blocks) const;

    dma::Bus& bus_;
    const Commands& commands_;
    CommandEvents* const events_;
    const unsigned log_stride_;

    std::mutex mutex_;
    std::condition_variable changed_;
    DmaAddress queue_;
    std::uint32_t pending_ = 0;
    bool busy_ = false;
    bool ends_ = false;
    std::thread thread_;
};

} // namespace mrz::firmware

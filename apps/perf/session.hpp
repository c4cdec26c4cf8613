// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What both ends of a session do alike.
#pragma once

#include "channel.hpp"
#include "hello.hpp"
#include "line.hpp"
#include "work.hpp"

#include "common/work_memory.hpp"

#include <mrzone/region.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mrz::perf {

struct MemoryOptions {
    std::size_t page_size = 4096;
    bool arena = false; //!< Else as mmap gives it.
};
//! Throws Error.
std::unique_ptr<app::WorkMemory> make_memory(const MemoryOptions& options, std::size_t length);
//! Bytes of memory that either end needs: the client what operations are from, the server what they are to; or both
//! both.
std::size_t memory_needed(const Settings& settings) noexcept;

//! Everything that one end has for a session's operations.
class Lines {
  public:
    //! Makes the connection of line \p number, with its receives posted by \p before.
    using Make = std::function<std::unique_ptr<Connection>(unsigned number, const QueuePairOptions& options,
                                                           const std::function<void(QueuePair&)>& before)>;

    //! Cuts \p memory, of memory_needed() bytes at least, which lives longer. Throws Error.
    Lines(const Domain& domain, const Settings& settings, bool server, app::WorkMemory& memory);

    //! Connects line \p number. Throws what \p make throws.
    void connect(unsigned number, const Make& make);
    //! What the other end is to be told of this end's targets.
    [[nodiscard]] Json regions() const;
    //! Takes what the other end says of its. Throws Error (peer, EPROTO).
    void take_regions(const Json& message);

    [[nodiscard]] std::span<Line> all() noexcept { return lines_; }
    [[nodiscard]] bool lasting() const noexcept { return lasting_; }
    //! Lets nothing reach the memory any more.
    void disconnect() noexcept;

  private:
    const Settings settings_;
    bool server_;
    bool lasting_;
    std::vector<Line> lines_;
};

//! One measurement at one end, together with the other.
struct Results {
    Outcome client;
    Outcome server;
};
struct Place {
    const Domain& domain;
    const Settings& settings;
    Lines& lines;
    Channel& channel;
    std::chrono::milliseconds silence;
};
//! Throw Error; the client's takes an interruption as an early end.
Results run_as_client(const Place& place, const Step& step);
void run_as_server(const Place& place, const Step& step);

} // namespace mrz::perf

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A device that keeps what is written, behind a server on a thread.
#pragma once

#include "unit/hca_app/scratch_folder.hpp"
#include "unit/hca_app/vfio_user/client.hpp"
#include "vfio_user/server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

namespace mrz::test {

inline constexpr std::uint32_t bar = 0;
inline constexpr std::uint32_t config = 7;

class KeepingDevice final : public vfio_user::Device {
  public:
    void read_config(std::uint64_t offset, std::span<std::byte> bytes) override { read(config_, offset, bytes); }
    void write_config(std::uint64_t offset, std::span<const std::byte> bytes) override
    {
        write(config_, offset, bytes);
    }
    void read_bar(std::uint64_t offset, std::span<std::byte> bytes) override { read(bar_, offset, bytes); }
    void write_bar(std::uint64_t offset, std::span<const std::byte> bytes) override { write(bar_, offset, bytes); }
    void reset() override
    {
        ++resets;
        std::ranges::fill(bar_, std::byte{0});
    }

    std::atomic<int> resets = 0;

  private:
    using Space = std::vector<std::byte>;
    static void read(const Space& space, std::uint64_t offset, std::span<std::byte> bytes)
    {
        ASSERT_LE(offset + bytes.size(), space.size());
        std::copy_n(space.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    }
    static void write(Space& space, std::uint64_t offset, std::span<const std::byte> bytes)
    {
        ASSERT_LE(offset + bytes.size(), space.size());
        std::ranges::copy(bytes, space.begin() + static_cast<std::ptrdiff_t>(offset));
    }

    Space config_ = Space(4096);
    Space bar_ = Space(1 << 16);
};

class ServedDevice : public testing::Test {
  protected:
    // What is refused is said; here it would hide what tests say.
    ServedDevice()
    {
        set_log_sink([](Severity, std::string_view) {});
    }
    ~ServedDevice() override
    {
        stop_server();
        set_log_sink({});
    }

    void stop_server()
    {
        stop.set();
        if (thread.joinable())
            thread.join();
    }
    //! When all that was said before is done: a server serves one client after the other.
    void wait_for_next_client() { (void)Client{server.path()}.agree(); }
    static std::size_t open_files()
    {
        using Files = std::filesystem::directory_iterator;
        return static_cast<std::size_t>(std::distance(Files{"/proc/self/fd"}, Files{}));
    }

    ScratchFolder folder;
    KeepingDevice device;
    dma::Memory memory;
    vfio_user::Vectors vectors{16};
    sockets::Stop stop;
    vfio_user::Server server{folder / "socket",
                             {.device = device,
                              .memory = memory,
                              .vectors = vectors,
                              .exclusively = [this](const auto& change) { memory.exclusively(change); },
                              .config_bytes = 4096,
                              .bar_bytes = 1 << 16}};
    std::thread thread{[this] { server.run(stop); }};
};

} // namespace mrz::test

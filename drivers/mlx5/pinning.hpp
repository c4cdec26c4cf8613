// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory that is pinned, whatever keys there are over it.
#pragma once

#include <verbs/context.hpp>

#include <mrzone/device.hpp>
#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

struct mlx5dv_devx_umem;

namespace mrz::mlx5 {

class Pinnings;

//! What is to be pinned.
struct PinRequest {
    std::span<std::byte> memory = {};
    PlannedKey key = {}; //!< The direct key that it is planned for.
    bool writes = false; //!< Whether that lets the device write.
    DmaView view = DmaView::frames;
};

//! One umem: memory that stays where it is, in pages of one size, for as long as this lives.
class Pinning {
  public:
    //! Pins for writing where the mapping allows it, so that other keys may, too. Throws Error with the cause.
    Pinning(std::shared_ptr<verbs::Context> context, const PinRequest& request);
    Pinning(const Pinning&) = delete;
    Pinning& operator=(const Pinning&) = delete;
    ~Pinning();

    [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
    [[nodiscard]] PageShift page_shift() const noexcept { return key_.page_shift; }
    //! What kept its pages from being larger.
    [[nodiscard]] const LimitedBy& limit() const noexcept { return key_.limit; }
    [[nodiscard]] bool writable() const noexcept { return writable_; }
    //! Its frames, if they are known.
    [[nodiscard]] const std::optional<Layout>& layout() const noexcept { return layout_; }
    //! What commands call it.
    [[nodiscard]] std::uint32_t umem_id() const noexcept;

  private:
    friend class Pinnings;

    std::shared_ptr<verbs::Context> context_;
    std::span<std::byte> memory_;
    PlannedKey key_;
    bool writable_ = true;
    mlx5dv_devx_umem* umem_ = nullptr;
    std::optional<Layout> layout_;
    std::shared_ptr<Pinnings> listed_; //!< Where it is found, if anywhere.
};

//! A part of memory that one pinning covers.
struct PinnedPiece {
    std::shared_ptr<const Pinning> pinning;
    std::size_t offset = 0; //!< In the memory, in bytes.
    std::size_t length = 0;
};

//! Pinnings of a domain that regions may share. Thread-safe.
//!
//! Which frames are at an address now is compared with those that were pinned there: memory that has come in place of
//! other memory has other frames, since the pinned ones are not free.
class Pinnings : public std::enable_shared_from_this<Pinnings> {
  public:
    Pinnings() = default;
    Pinnings(const Pinnings&) = delete;
    Pinnings& operator=(const Pinnings&) = delete;
    ~Pinnings();

    //! Lets \p pinning be found, if its frames are known.
    void add(const std::shared_ptr<Pinning>& pinning);
    //! Pieces that together are all of \p memory, whose layout is \p layout now; none if some of it is not pinned, or
    //! not so that it may be shared.
    [[nodiscard]] std::vector<PinnedPiece> covering(std::span<std::byte> memory, const Layout& layout, bool writes,
                                                    Sharing sharing) const;

  private:
    friend class Pinning;
    struct Wanted {
        std::uintptr_t begin;
        const Layout& layout;
        bool writes;
        std::size_t longest;                               //!< Bytes of a pinning.
        std::vector<std::shared_ptr<const Pinning>>& held; //!< Whatever was looked at.
    };
    [[nodiscard]] std::shared_ptr<const Pinning> reaching_farthest(std::uintptr_t address,
                                                                   const Wanted& wanted) const;
    void remove(const Pinning& pinning) noexcept;

    struct Listed {
        const Pinning* pinning;
        std::weak_ptr<const Pinning> alive;
    };
    using ByAddress = std::multimap<std::uintptr_t, Listed>;

    const pid_t owner_ = ::getpid();
    mutable std::mutex mutex_;
    std::unique_ptr<ByAddress> by_address_ = std::make_unique<ByAddress>();
    std::size_t longest_ = 0; //!< Bytes: none that is listed is longer.
};

} // namespace mrz::mlx5

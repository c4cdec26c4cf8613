// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The movable keys of a domain, and which regions they lead to. Private to this floor.
#pragma once

#include <mrzone/device.hpp>
#include <mrzone/region.hpp>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace mrz {

//! Thread-safe. Not for a child made by fork, where the lock may be held for ever.
class MovableKeys {
  public:
    struct Entry;
    using Leading = std::multimap<const RegisteredMemory*, Entry*>;

    //! A key, and where it leads.
    struct Entry {
        std::unique_ptr<MovableRKey> key;
        std::optional<RemoteRegion> remote; //!< What a peer is given; nothing if it leads nowhere.
        std::vector<Leading::iterator> leads;
    };

    void add() noexcept { ++count_; }
    void remove(Entry& entry) noexcept;
    //! \p remote is what a peer is given, but for rkey and generation. Throws what MovableRKey::lead_to() does.
    RemoteRegion lead_to(Entry& entry, RemoteRegion remote, std::span<const KeyPart> parts,
                         std::span<const RegisteredMemory* const> memories);
    void lead_nowhere(Entry& entry) noexcept;
    [[nodiscard]] std::optional<RemoteRegion> remote(const Entry& entry) const;
    //! No key leads to \p memory afterwards.
    void ends(const RegisteredMemory& memory) noexcept;
    //! Waits for no device.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

  private:
    //! What is known of where it leads.
    void forget(Entry& entry) noexcept;

    mutable std::mutex mutex_;
    std::atomic<std::size_t> count_ = 0;
    Leading leading_;
};

} // namespace mrz

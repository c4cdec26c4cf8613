// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The subnet that a device's port is in: itself, and the devices that it is linked with.
#pragma once

#include "fabric/cable.hpp"
#include "queues/links.hpp"
#include "queues/peer_address.hpp"

#include <hca/hca.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mrz::fabric {

//! The address with which InfiniBand ports begin: of the link-local prefix and the GUID.
[[nodiscard]] queues::Gid gid_of(const PortAddress& port) noexcept;

class Fabric final : public queues::Links {
  public:
    //! \p wake is called, from any thread and with locks of the engine held, when the data thread has to look. Throws
    //! as Cable. \p engine outlives it; all queue pairs that are connected over its links go before it does.
    Fabric(hca::Hca& engine, PortAddress own, const std::vector<std::string>& paths, std::function<void()> wake);

    //! The way to a peer, by its LID and, where it has one, GID: nobody but the ports here has any. Thread-safe.
    [[nodiscard]] queues::Route route(const queues::PeerAddress& peer) const;

    struct State {
        std::string path;
        bool up = false;
        std::optional<PortAddress> peer; //!< Of the link that there is, or was last.
        std::uint64_t times_up = 0;
        std::uint64_t times_lost = 0;
        std::string why_lost;       //!< Last.
        hca::LinkCounters counters; //!< Of all links at this path.
    };
    //! Thread-safe.
    [[nodiscard]] std::vector<State> state() const;

    bool work() override;
    [[nodiscard]] bool prepare_to_sleep() override;
    void watch(std::vector<pollfd>& descriptors) const override;
    void awake(std::span<const pollfd> descriptors) override;

  private:
    struct Line {
        State state; //!< Its counters are those of links before this one.
        std::shared_ptr<hca::Link> link;
        std::unique_ptr<Cable> cable;
    };

    void joined(Line& line, Cable::Joined joined);
    //! The links that there are.
    [[nodiscard]] std::vector<std::shared_ptr<hca::Link>> links() const;
    void remove(const std::shared_ptr<hca::Link>& link);

    hca::Hca& engine_;
    const PortAddress own_;
    const std::function<void()> wake_;
    mutable std::mutex mutex_; //!< Guards the lines' states and links.
    std::list<Line> lines_;
};

} // namespace mrz::fabric

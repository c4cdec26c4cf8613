// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Connections of the software adapter.
#pragma once

#include "adapter.hpp"
#include "handshake.hpp"
#include "queue_pair.hpp"

#include <mrzone/device.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace mrz::soft {

//! Checks what the owner said, makes the queue pair, and lets \p before see it.
std::unique_ptr<LinkableQueuePair> prepare(const std::shared_ptr<Adapter>& adapter, hca::Pd pd,
                                           const ConnectOptions& options,
                                           const std::function<void(QueuePair&)>& before, const std::string& what);

//! Joins \p queue_pair to the peer that sent \p greeting, over \p wire.
std::unique_ptr<Connection> join(std::shared_ptr<Adapter> adapter, std::unique_ptr<LinkableQueuePair> queue_pair,
                                 std::unique_ptr<hca::Wire> wire, const Greeting& greeting, std::string peer);

//! As ProtectionDomain::connect().
std::unique_ptr<Connection> connect(std::shared_ptr<Adapter> adapter, hca::Pd pd, std::string_view address,
                                    const ConnectOptions& options, const std::function<void(QueuePair&)>& before);

//! Throws an Error about a peer.
[[noreturn]] void refuse_peer(int error, const std::string& what, std::string limit, std::string remedy);

} // namespace mrz::soft

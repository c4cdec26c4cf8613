// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What an adapter is made of.
#pragma once

#include "access_lock.hpp"
#include "delivery.hpp"
#include "number_table.hpp"
#include "requester.hpp"
#include "responder.hpp"
#include "traffic.hpp"

#include <hca/hca.hpp>

#include <cstdint>
#include <utility>

namespace mrz::hca {

//! A protection domain.
struct Domain {
    std::uint64_t users = 0; //!< Objects in it.
};

struct Hca::Parts {
    Parts(Bus& bus_given, HcaOptions given)
        : bus{bus_given}, options{std::move(given)}, mpt_cache{options.mpt_cache}, mtt_cache{options.mtt_cache},
          keys{options.keys}, pds{"protection domain", options.max_pds, 1},
          cqs{"completion queue", options.max_cqs, 1}, srqs{"shared receive queue", options.max_srqs, 1},
          // 0 and 1 are the management queue pairs of every adapter.
          qps{"queue pair", options.max_qps, 2}, translator{keys, mpt_cache, mtt_cache}, delivery{counters},
          responder{bus_given, translator, qps, delivery, counters}, requester{bus_given, translator, responder,
                                                                               options},
          link_responder{responder, qps, options}, traffic{access,   qps,     requester, link_responder,
                                                           delivery, options, counters}
    {
    }

    //! Drops a key's entries from the caches.
    void forget(Mkey key);
    //! There is a receive of \p qp's own that was not there before.
    void have_receive(QueuePair& qp, Aftermath& after) const;
    //! A receive was posted to \p qp: a peer that was refused for want of one, over a link, is told.
    static void tell_receive(QueuePair& qp, Aftermath& after);

    Bus& bus;
    const HcaOptions options;
    mutable AccessLock access;
    Cache mpt_cache;
    Cache mtt_cache;
    KeyTable keys;
    NumberTable<Domain> pds;
    NumberTable<CompletionQueue> cqs;
    NumberTable<SharedReceiveQueue> srqs;
    NumberTable<QueuePair> qps;
    LiveCounters counters;
    Translator translator;
    Delivery delivery;
    Responder responder;
    Requester requester;
    LinkResponder link_responder;
    Traffic traffic;
};

} // namespace mrz::hca

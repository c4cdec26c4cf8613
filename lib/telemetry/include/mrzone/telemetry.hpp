// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What this process has, for DPDK's telemetry: /mrzone/… beside DPDK's own commands.
#pragma once

#include <mrzone/base.hpp>

#include <string>

namespace mrz {

//! Offers mrzone's commands to the clients of the EAL's telemetry (dpdk-telemetry.py), which the application must
//! have started: the library never does so by itself. They answer from then on until the process ends, since DPDK
//! cannot forget a command. Doing so again does nothing. Thread-safe.
//!
//!     /mrzone/pools                     the kernel's hugepage pools, in pages
//!     /mrzone/domains[,FROM]            number and device of each domain; so for caches and, by name, arenas
//!     /mrzone/domain,NUMBER or NAME     DomainSnapshot, look-up included
//!     /mrzone/caches[,FROM]
//!     /mrzone/cache,NUMBER or NAME      CacheSnapshot
//!     /mrzone/arenas[,FROM]
//!     /mrzone/arena,NUMBER or NAME      ArenaSnapshot
//!
//! Answers are dictionaries of numbers and words (mrzone/fields.hpp); lists have as many as fit DPDK's answer, and
//! say how many are left out ("left_out"): ask again FROM the next number. What cannot be answered has "error/what"
//! and more in place of an answer. Clients run in threads of the EAL and take no lock of a fast path; a thread that
//! ends what is just being looked at waits for it.
//!
//! \return where clients connect: the path of the telemetry's socket.
//! Throws Error: unsupported (ENODEV) without an EAL; unsupported (ENOTSUP) where it has no telemetry
//! (--no-telemetry, or a secondary process); internal (ENOMEM). In a child of fork() nobody listens.
MRZ_API std::string offer_telemetry();

} // namespace mrz

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Why the kernel refused something of a device, from its errno and from what this host and process allow.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/host.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrz::verbs {

class Context;

//! What is known when the kernel has refused to register memory.
struct RegistrationFacts {
    int error = 0; //!< The errno.
    std::string device;
    std::uint64_t address = 0;
    std::uint64_t length = 0;       //!< Bytes.
    std::uint64_t pinned_bytes = 0; //!< What would be pinned, in whole pages.
    bool writes = false;            //!< Whether any right lets the device write.
    bool on_demand = false;
    std::uint64_t max_mr_size = 0;                //!< Bytes; what the device reports.
    std::uint64_t max_mr = 0;                     //!< Regions of the whole device; what it reports.
    std::optional<std::uint64_t> regions_of_it{}; //!< That it has now, of all processes.
    host::LockedMemory locked = {};
    host::CgroupLimits objects = {}; //!< The rdma controller's.
    //! The mappings that the memory touches; nothing if they cannot be read.
    std::optional<std::vector<host::MappedMemory>> mappings = {};
};

//! Explains the errno. Looks at nothing but the facts.
Error explain(const RegistrationFacts& facts);

//! Explains the errno that registering [address, address + length) ended with, now that it has.
Error registration_failure(int error, const Context& context, const void* address, std::size_t length, bool writes,
                           bool on_demand);

//! Explains why a device cannot be opened; \p node is its file's name under /dev/infiniband.
Error open_failure(int error, std::string_view device, std::string_view node);

//! Explains why an object cannot be made; \p doing is "creating a queue pair of" and the like.
Error object_failure(int error, const Context& context, std::string_view doing);
//! The same from facts alone.
Error explain_object(int error, std::string_view device, std::string_view doing, const host::CgroupLimits& objects,
                     const host::LockedMemory& locked);

} // namespace mrz::verbs

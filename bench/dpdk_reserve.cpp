// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The same amount from DPDK's own heap, which grows for it and shrinks again afterwards.
#include "subject.hpp"

#include <rte_errno.h>
#include <rte_memzone.h>

#include <stdexcept>
#include <string>

namespace bench {

namespace {

class Reserved {
  public:
    Reserved() : zone_{rte_memzone_reserve("bench", size, SOCKET_ID_ANY, 0)}
    {
        if (zone_ == nullptr)
            throw std::runtime_error{std::string{"rte_memzone_reserve: "} + rte_strerror(rte_errno)};
    }
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;
    ~Reserved() { rte_memzone_free(zone_); }

    [[nodiscard]] const void* address() const noexcept { return zone_->addr; }

  private:
    const rte_memzone* zone_;
};

void dpdk_reserve(benchmark::State& state)
{
    measure(state, [] { return Reserved{}; });
}
BENCHMARK(dpdk_reserve)->Name("dpdk_reserve/1GiB")->Apply(one_run);

} // namespace

} // namespace bench

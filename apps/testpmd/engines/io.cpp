// SPDX-License-Identifier: BSD-3-Clause
#include "../engine_loop.hpp"
#include "all.hpp"

namespace mrz::testpmd {
namespace {

class Io {
  public:
    static constexpr bool sends = true;

    explicit Io(Stream&) noexcept {}

    std::uint16_t handle(rte_mbuf**, std::uint16_t count) const noexcept { return count; }
};

} // namespace

const Engine io = make_engine<Io>("io", "sends packets on as they are, without a look at them");

} // namespace mrz::testpmd

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! When nobody can still be reading what was taken out of sight: DPDK's QSBR. Private to this floor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

struct rte_rcu_qsbr;

namespace mrz {

//! Needs no EAL, and its readers may be any threads. Where nothing else is said, calls exclude each other.
class Quiescence {
  public:
    explicit Quiescence(unsigned most_readers);

    //! A number for a new reader, which is online; none if there are as many as may be.
    [[nodiscard]] std::optional<unsigned> enter() noexcept;
    void leave(unsigned reader) noexcept;
    [[nodiscard]] unsigned readers() const noexcept { return readers_; }

    //! \name For the reader itself, at any time.
    //! \{
    void quiescent(unsigned reader) noexcept;
    void offline(unsigned reader) noexcept;
    void online(unsigned reader) noexcept;
    //! \}

    //! Call it when something was taken out of sight. Tokens ascend.
    [[nodiscard]] std::uint64_t start() noexcept;
    //! Whether every reader has been quiescent or offline since. Does not wait.
    [[nodiscard]] bool passed(std::uint64_t token) noexcept;

  private:
    struct Free {
        void operator()(rte_rcu_qsbr* state) const noexcept;
    };
    std::unique_ptr<rte_rcu_qsbr, Free> state_;
    std::vector<bool> taken_;
    unsigned readers_ = 0;
};

} // namespace mrz

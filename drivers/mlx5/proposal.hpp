// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! How memory is registered: over what is pinned already, by umems of its own, or by ibv_reg_mr.
#pragma once

#include "pinning.hpp"

#include <mrzone/device.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mrz::mlx5 {

//! Pinnings that a plan is made for.
class SharedPinnings final : public Basis {
  public:
    explicit SharedPinnings(std::vector<PinnedPiece> pieces) : pieces_{std::move(pieces)} {}
    //! In the order of the memory: one for each direct key of the plan.
    [[nodiscard]] const std::vector<PinnedPiece>& pieces() const noexcept { return pieces_; }

  private:
    std::vector<PinnedPiece> pieces_;
};

//! A part of memory that lies in one umem.
struct UmemPiece {
    std::size_t offset = 0; //!< In the memory, in bytes.
    std::size_t length = 0;
    PageShift page_shift{12};
    LimitedBy limit = {}; //!< What kept the umem's pages from being larger.
};

//! The plan for keys over what is pinned already, in \p pieces that together are all of it: one direct key if the
//! iova agrees with its pages, else one over several. Nothing if the device or the options do not allow what that
//! takes.
[[nodiscard]] std::optional<Plan> plan_over(std::span<const UmemPiece> pieces, const Layout& layout, Iova iova,
                                            const PlanOptions& options, const Limits& limits);

//! \p umem and \p verbs are the limits of the two ways. Throws Error as make_optimal_plan(); unsupported (EOPNOTSUPP)
//! for pages on demand by a way that has none.
[[nodiscard]] Proposal propose(const Pinnings& pinnings, const RegisterRequest& request, const Layout& layout,
                               const PlanOptions& options, const Limits& umem, const Limits& verbs);

} // namespace mrz::mlx5

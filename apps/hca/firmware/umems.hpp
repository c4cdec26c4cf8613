// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory that a user context described: pages that its keys and queues are made of.
#pragma once

#include "dma/pages.hpp"
#include "firmware/context.hpp"

#include <cstdint>
#include <utility>

namespace mrz::firmware {

class Umems;

class Umem final : public Object {
  public:
    static constexpr Kind kind = Kind::umem;
    Umem(Umems& all, std::uint32_t number, std::uint16_t uid, dma::PageList pages, bool writable)
        : Object{kind, number, uid}, all_{all}, pages_{std::move(pages)}, writable_{writable}
    {
    }

    //! Counted from where the memory begins in its first page.
    [[nodiscard]] const dma::PageList& pages() const noexcept { return pages_; }
    [[nodiscard]] bool writable() const noexcept { return writable_; }
    void end() override;

  private:
    Umems& all_;
    const dma::PageList pages_;
    const bool writable_;
};

class Umems {
  public:
    explicit Umems(const Context& context);
    void add_to(Commands& commands);

  private:
    friend class Umem;

    void create(const Command& command);

    const Context context_;
    std::uint64_t pages_ = 0; //!< Of all of them: what a guest can make this process remember is bounded.
};

} // namespace mrz::firmware

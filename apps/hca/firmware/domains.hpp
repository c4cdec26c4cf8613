// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Objects that are little more than a number: domains, pages of doorbells, user contexts, counters.
#pragma once

#include "firmware/context.hpp"

#include <hca/mkey.hpp>

#include <cstdint>

namespace mrz::firmware {

class ProtectionDomain final : public Object {
  public:
    static constexpr Kind kind = Kind::pd;
    ProtectionDomain(hca::Hca& engine, hca::Pd pd, std::uint16_t uid)
        : Object{kind, static_cast<std::uint32_t>(pd), uid}, engine_{engine}, pd_{pd}
    {
    }

    [[nodiscard]] hca::Pd pd() const noexcept { return pd_; }
    void end() override { engine_.dealloc_pd(pd_); }

  private:
    hca::Hca& engine_;
    const hca::Pd pd_;
};

//! A page of the BAR with doorbells; its number is the page's.
class Uar final : public Object {
  public:
    static constexpr Kind kind = Kind::uar;
    Uar(std::uint32_t number, std::uint16_t uid) noexcept : Object{kind, number, uid} {}
};

class TransportDomain final : public Object {
  public:
    static constexpr Kind kind = Kind::transport_domain;
    TransportDomain(std::uint32_t number, std::uint16_t uid) noexcept : Object{kind, number, uid} {}
};

class XrcDomain final : public Object {
  public:
    static constexpr Kind kind = Kind::xrcd;
    XrcDomain(std::uint32_t number, std::uint16_t uid) noexcept : Object{kind, number, uid} {}
};

//! Belongs to the kernel, which makes one for each process; its number is the uid of that one's commands.
class UserContext final : public Object {
  public:
    static constexpr Kind kind = Kind::uctx;
    explicit UserContext(std::uint32_t number) noexcept : Object{kind, number, 0} {}
};

class Domains {
  public:
    explicit Domains(const Context& context);
    void add_to(Commands& commands);
    //! Throws bad_res where a command comes in the name of nobody.
    void check_user(const Command& command) const;

  private:
    void alloc_pd(const Command& command);
    void create_uctx(const Command& command);
    void destroy_uctx(const Command& command);

    const Context context_;
};

} // namespace mrz::firmware

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An open device of libibverbs and a protection domain of it: what all that is made of them keeps.
#pragma once

#include <mrzone/base.hpp>

#include <infiniband/verbs.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace mrz::verbs {

//! The devices there are, by name, or those of them that \p wanted picks. Says nothing and takes no time where the
//! kernel has none.
std::vector<std::string> device_names(bool (*wanted)(ibv_device*) = nullptr);

//! An open device.
//!
//! Belongs to the process that opened it. What a child of fork() inherits is the parent's, and the descriptor leads
//! to the parent's objects: so whatever would destroy one asks is_ours() first, and else leaves it alone.
class Context {
  public:
    //! Opens it by \p opener, as ibv_open_device does: a provider may have others. Throws Error: unsupported (ENODEV)
    //! if there is no such device; else with the cause.
    static std::shared_ptr<Context> open(std::string_view device, ibv_context* (*opener)(ibv_device*) = nullptr);
    //! The application's, which closes it.
    static std::shared_ptr<Context> adopt(ibv_context* context);

    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context();

    [[nodiscard]] ibv_context* get() const noexcept { return context_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const ibv_device_attr_ex& attributes() const noexcept { return attributes_; }
    [[nodiscard]] bool is_iwarp() const noexcept;
    [[nodiscard]] bool is_ours() const noexcept { return owner_ == ::getpid(); }

  private:
    Context(ibv_context* context, bool owned);

    ibv_context* context_;
    bool owned_;
    pid_t owner_ = ::getpid();
    std::string name_;
    ibv_device_attr_ex attributes_ = {};
};

//! A protection domain.
class Pd {
  public:
    //! Throws Error with the cause.
    explicit Pd(std::shared_ptr<Context> context);
    //! The application's, which frees it.
    Pd(std::shared_ptr<Context> context, ibv_pd* adopted) noexcept;
    Pd(const Pd&) = delete;
    Pd& operator=(const Pd&) = delete;
    ~Pd();

    [[nodiscard]] ibv_pd* get() const noexcept { return pd_; }
    [[nodiscard]] const std::shared_ptr<Context>& context() const noexcept { return context_; }

  private:
    std::shared_ptr<Context> context_;
    ibv_pd* pd_;
    bool owned_;
};

} // namespace mrz::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include "failure.hpp"
#include "limits.hpp"
#include "words.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

namespace mrz::verbs {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(Trouble trouble, int error, const Context& context, const RegisterRequest& request,
                         std::string limit, std::string remedy)
{
    throw Error{error,
                {.trouble = trouble,
                 .what = "registering " + format_size(request.length) + " at " +
                         format_hex(reinterpret_cast<std::uintptr_t>(request.address)) + " with device " +
                         context.name(),
                 .limit = std::move(limit),
                 .remedy = std::move(remedy)}};
}

void check(const Context& context, const RegisterRequest& request)
{
    check_access(request.access);
    if (request.length == 0)
        refuse(Trouble::invalid, EINVAL, context, request, "it has no bytes", "name a range of memory that is there");
    const auto address = reinterpret_cast<std::uintptr_t>(request.address);
    if (address + (request.length - 1) < address ||
        request.iova.value() + (request.length - 1) < request.iova.value())
        refuse(Trouble::invalid, EINVAL, context, request, "it wraps around the address space",
               "choose a lower address");
    // A plan that has a single direct key is all that ibv_reg_mr can carry out: it chooses the page size by the very
    // rule that the plan was made by.
    const Plan* const plan = request.plan;
    if (plan == nullptr || plan->keys.size() != 1 || plan->indirect || plan->bytes != request.length ||
        plan->keys.front().iova != request.iova)
        refuse(Trouble::invalid, EINVAL, context, request, "the plan is not for one key over just this memory",
               "plan it with the limits of this device");
    if (request.options.paging == Paging::on_demand && !pages_on_demand(context.attributes()))
        refuse(Trouble::unsupported, EOPNOTSUPP, context, request,
               "the device takes no page faults (ibv_devinfo -v shows no odp_caps for RC)", "register it pinned");
    // Nothing tells whether an adapter can; those on PCI that cannot are told by the kernel to leave it (the flag is
    // one that may be ignored), but a software device has no bus on which writes could pass each other.
    if (request.options.ordering == Ordering::relaxed && is_software(context.attributes().orig_attr))
        refuse(Trouble::unsupported, EOPNOTSUPP, context, request, "a software device never reorders writes",
               "ask for the best ordering, or strict");
}

class VerbsMemory final : public RegisteredMemory {
  public:
    VerbsMemory(std::shared_ptr<Pd> pd, const RegisterRequest& request) : pd_{std::move(pd)}
    {
        const Context& context = *pd_->context();
        check(context, request);
        const bool on_demand = request.options.paging == Paging::on_demand;
        pinned_bytes_ = on_demand ? 0 : verbs::pinned_bytes(request.address, request.length);
        const unsigned access =
            to_verbs(request.access, request.options, !is_software(context.attributes().orig_attr));
        may_relax_ = (access & IBV_ACCESS_RELAXED_ORDERING) != 0;
        const auto begin = Clock::now();
        errno = 0;
        region_ = ::ibv_reg_mr_iova2(pd_->get(), request.address, request.length, request.iova.value(), access);
        if (region_ == nullptr)
            throw registration_failure(errno == 0 ? EIO : errno, context, request.address, request.length,
                                       grants(request.access, Access::local_write), on_demand);
        phases_.pin = Clock::now() - begin;
    }
    VerbsMemory(const VerbsMemory&) = delete;
    VerbsMemory& operator=(const VerbsMemory&) = delete;
    ~VerbsMemory() override
    {
        if (!pd_->context()->is_ours()) // its parent's; libibverbs would deregister it
            return;
        if (const int error = ::ibv_dereg_mr(region_); error != 0)
            log(Severity::error, "verbs: a region of " + pd_->context()->name() +
                                     " could not be deregistered, and stays pinned: " + std::strerror(error));
    }

    [[nodiscard]] LKey lkey() const noexcept override { return LKey{region_->lkey}; }
    //! Some drivers give zero to what has no remote right, others what grants nothing.
    [[nodiscard]] RKey rkey() const noexcept override { return RKey{region_->rkey}; }
    //! No call of libibverbs tells which page size the kernel chose.
    [[nodiscard]] std::optional<std::vector<BuiltKey>> query() const override { return std::nullopt; }
    [[nodiscard]] std::size_t pinned_bytes() const noexcept override { return pinned_bytes_; }
    [[nodiscard]] RegisterPhases phases() const noexcept override { return phases_; }
    //! A device that cannot reorder leaves the wish alone, and does not say so.
    [[nodiscard]] std::optional<Ordering> ordering() const noexcept override
    {
        return may_relax_ ? std::nullopt : std::optional{Ordering::strict};
    }

  private:
    std::shared_ptr<Pd> pd_;
    ibv_mr* region_ = nullptr;
    std::size_t pinned_bytes_ = 0;
    bool may_relax_ = false;
    RegisterPhases phases_ = {};
};

} // namespace

std::size_t pinned_bytes(const void* address, std::size_t length) noexcept
{
    constexpr std::size_t page = 4096;
    return (reinterpret_cast<std::uintptr_t>(address) % page + length + page - 1) / page * page;
}

std::unique_ptr<RegisteredMemory> register_memory(const std::shared_ptr<Pd>& pd, const RegisterRequest& request)
{
    return std::make_unique<VerbsMemory>(pd, request);
}

} // namespace mrz::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/reader.hpp>

#include "domain_state.hpp"

#include <cerrno>
#include <string>

namespace mrz {

struct Reader::State {
    explicit State(std::shared_ptr<DomainState> domain)
        : tenant{std::move(domain), "reader"}, look_up{tenant.state()->look_up()}, number{look_up.enter()}
    {
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { look_up.leave(number); }

    Tenant tenant;
    LookUp& look_up;
    const unsigned number;
};

Reader::Reader(const Domain& domain, std::uint32_t layout)
{
    if (layout != MRZ_LOOKUP_LAYOUT)
        throw Error{ENOTSUP,
                    {.trouble = Trouble::unsupported,
                     .what = "making a reader for look-ups of layout " + std::to_string(layout),
                     .limit = "this library's is layout " + std::to_string(MRZ_LOOKUP_LAYOUT),
                     .remedy = "compile the program with the mrzone/lookup.h of the library that it runs with"}};
    state_ = std::make_unique<State>(domain.state_);
    view_ = state_->look_up.view();
}

Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

void Reader::quiescent() noexcept
{
    state_->look_up.quiescence().quiescent(state_->number);
}

void Reader::offline() noexcept
{
    state_->look_up.quiescence().offline(state_->number);
}

void Reader::online() noexcept
{
    state_->look_up.quiescence().online(state_->number);
}

} // namespace mrz

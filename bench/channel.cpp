// SPDX-License-Identifier: BSD-3-Clause
#include "channel.hpp"

#include <stdexcept>
#include <string>

namespace bench {

Channel::Channel(const mrz::Domain& domain) : near_{domain.create_queue_pair()}, far_{domain.create_queue_pair()}
{
    near_->connect(far_->local());
    far_->connect(near_->local());
}

void Channel::run(const mrz::SendRequest& request)
{
    near_->post_send(request);
    mrz::Completion completion;
    while (near_->poll({&completion, 1}) == 0)
        ;
    if (completion.status != mrz::WcStatus::success)
        throw std::runtime_error{"an operation failed: " + std::string{mrz::to_string(completion.status)}};
}

} // namespace bench

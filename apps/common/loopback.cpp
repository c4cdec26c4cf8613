// SPDX-License-Identifier: BSD-3-Clause
#include "loopback.hpp"

#include <cerrno>
#include <chrono>
#include <optional>

namespace mrz::app {

Loopback::Loopback(const Domain& domain) : near_{domain.create_queue_pair()}, far_{domain.create_queue_pair()}
{
    near_->connect(far_->local());
    far_->connect(near_->local());
}

WcStatus Loopback::run(Opcode opcode, const Segment& local, Iova remote, RKey rkey)
{
    return run({.opcode = opcode, .segments = {&local, 1}, .remote_iova = remote, .rkey = rkey});
}

WcStatus Loopback::run(const SendRequest& request)
{
    near_->post_send(request);
    Completion completion;
    constexpr std::chrono::seconds patience{10};
    std::optional<std::chrono::steady_clock::time_point> deadline;
    while (near_->poll({&completion, 1}) == 0) {
        const auto now = std::chrono::steady_clock::now();
        if (!deadline)
            deadline = now + patience;
        else if (now > *deadline)
            throw Error{ETIMEDOUT,
                        {.trouble = Trouble::unsupported,
                         .what = "waiting for the device to do its work",
                         .limit = "seconds",
                         .present = static_cast<std::uint64_t>(patience.count()),
                         .remedy = "check the device's link"}};
    }
    return completion.status;
}

} // namespace mrz::app

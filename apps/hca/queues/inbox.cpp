// SPDX-License-Identifier: BSD-3-Clause
#include "queues/inbox.hpp"

#include <mrzone/base.hpp>

#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace mrz::queues {

Inbox::Inbox() : descriptor_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}
{
    if (descriptor_.get() < 0)
        throw Error{errno, {Trouble::internal, "make a way to wake the data thread", "eventfd failed", {}, {}, {}}};
}

void Inbox::send(Rung queue_pair)
{
    const std::lock_guard lock{mutex_};
    if (chores_.sends.size() < most || chores_.sends.contains(queue_pair))
        chores_.sends.insert(queue_pair);
    else
        chores_.everything = true;
    signal();
}

void Inbox::arm(Rung completion_queue, const ArmRequest& request)
{
    const std::lock_guard lock{mutex_};
    if (chores_.arms.size() < most || chores_.arms.contains(completion_queue))
        chores_.arms[completion_queue] = request;
    else
        chores_.everything = true;
    signal();
}

void Inbox::completed(std::uint32_t cqn)
{
    const std::lock_guard lock{mutex_};
    chores_.completed.push_back(cqn);
    signal();
}

void Inbox::happened(const hca::Event& event)
{
    const std::lock_guard lock{mutex_};
    chores_.events.push_back(event);
    signal();
}

void Inbox::wake()
{
    const std::lock_guard lock{mutex_};
    poked_ = true;
    signal();
}

Chores Inbox::take()
{
    const std::lock_guard lock{mutex_};
    poked_ = false;
    return std::exchange(chores_, {});
}

bool Inbox::has_something() const
{
    const std::lock_guard lock{mutex_};
    return !chores_.empty();
}

bool Inbox::prepare_to_sleep()
{
    const std::lock_guard lock{mutex_};
    if (poked_ || !chores_.empty())
        return false;
    asleep_ = true;
    return true;
}

void Inbox::signal() noexcept
{
    if (!std::exchange(asleep_, false))
        return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(descriptor_.get(), &one, sizeof one);
}

void Inbox::awake() noexcept
{
    const std::lock_guard lock{mutex_};
    if (std::exchange(asleep_, false))
        return; // nobody has written
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(descriptor_.get(), &count, sizeof count);
}

} // namespace mrz::queues

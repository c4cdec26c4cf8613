// SPDX-License-Identifier: BSD-3-Clause
#include "page_taker.hpp"

#include <mrzone/signals_blocked.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <numaif.h>
#include <unistd.h>

namespace mrz::hugepage {
namespace {

// How much one fallocate takes: often enough to be stopped soon (about 2 ms), seldom enough to cost nothing.
constexpr std::size_t chunk_bytes = 16_MiB;
constexpr std::chrono::milliseconds tell_every{100};

//! Makes this thread take memory from one node only. Returns 0 or errno.
int bind_to(int node)
{
    constexpr std::size_t bits = sizeof(unsigned long) * CHAR_BIT;
    std::array<unsigned long, 1024 / bits> mask{};
    const auto bit = static_cast<std::size_t>(node);
    if (bit >= mask.size() * bits)
        return EINVAL;
    mask[bit / bits] |= 1UL << (bit % bits);
    // The kernel takes one off the number of bits (mm/mempolicy.c: get_nodes).
    return ::set_mempolicy(MPOL_BIND, mask.data(), mask.size() * bits + 1) == 0 ? 0 : errno;
}

Error cannot_bind(int error, int node)
{
    const bool excluded = error == EINVAL; // The node has no memory, or the cpuset leaves it out.
    return Error{error,
                 {.trouble = excluded ? Trouble::hugepages : Trouble::permission,
                  .what = "hugepages from node " + std::to_string(node),
                  .limit = std::string{"set_mempolicy: "} + std::strerror(error),
                  .remedy = excluded ? "allow the node in this group's cpuset.mems"
                                     : "allow set_mempolicy in the container's seccomp profile (CAP_SYS_NICE "
                                       "does in most), or ask for no node"}};
}

class Taking {
  public:
    Taking(PageFiles& files, std::optional<int> node, ProgressMeter& meter)
        : files_{files}, node_{node}, meter_{meter}
    {
    }

    int run(std::size_t pages)
    {
        const std::size_t count = files_.files().size();
        std::vector<std::jthread> threads; // Before `stop`: it is to be told before they are waited for.
        const struct Stop {
            std::atomic<bool>& flag;
            ~Stop() { flag = true; }
        } stop{stop_};
        threads.reserve(count);
        {
            const SignalsBlocked blocked;
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t share = pages / count + (i < pages % count ? 1 : 0);
                if (share > 0)
                    start(threads, files_.files()[i], share);
            }
        }
        for (std::unique_lock lock{mutex_}; !ended_.wait_for(lock, tell_every, [&] { return running_ == 0; });) {
            lock.unlock();
            meter_.tell();
            lock.lock();
        }
        if (bind_error_ != 0)
            throw cannot_bind(bind_error_, *node_);
        return error_;
    }

  private:
    void start(std::vector<std::jthread>& threads, PageFiles::File& file, std::size_t share)
    {
        try {
            const std::lock_guard lock{mutex_};
            threads.emplace_back([this, &file, share] { work(file, share); });
            ++running_;
        } catch (const std::system_error& error) {
            throw Error{error.code().value(),
                        {.trouble = Trouble::internal,
                         .what = "a thread that takes hugepages",
                         .limit = std::string{"pthread_create: "} + error.what(),
                         .remedy = "check ulimit -u and the control group's pids.max"}};
        }
    }

    void work(PageFiles::File& file, std::size_t share)
    {
        const int bind_error = node_ ? bind_to(*node_) : 0;
        const int error = bind_error == 0 ? take(file, share) : 0;
        // Notified under the lock: this object may go as soon as the last one has ended.
        const std::lock_guard lock{mutex_};
        if (bind_error != 0)
            bind_error_ = bind_error;
        if (error != 0)
            error_ = error;
        if (bind_error != 0 || error != 0)
            stop_ = true;
        --running_;
        ended_.notify_one();
    }

    int take(PageFiles::File& file, std::size_t share)
    {
        const std::size_t page_size = files_.page_size();
        std::size_t chunk = std::max<std::size_t>(1, chunk_bytes / page_size);
        bool counting = false;
        while (share > 0 && (counting || !stop_)) {
            const std::size_t pages = std::min(share, chunk);
            if (::fallocate(file.fd.get(), 0, static_cast<off_t>(file.pages * page_size),
                            static_cast<off_t>(pages * page_size)) == 0) {
                file.pages += pages;
                share -= pages;
                meter_.add(pages * page_size);
            } else if (errno == EINTR) {
                continue;
            } else if (pages > 1) {
                // A failed call keeps the pages that it got: find out one by one how many.
                chunk = 1;
                counting = true;
            } else {
                return errno;
            }
        }
        return 0;
    }

    PageFiles& files_;
    std::optional<int> node_;
    ProgressMeter& meter_;
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    std::condition_variable ended_;
    std::size_t running_ = 0;
    int bind_error_ = 0;
    int error_ = 0;
};

} // namespace

int take_pages(PageFiles& files, std::size_t pages, std::optional<int> node, ProgressMeter& meter)
{
    meter.want(pages * files.page_size());
    meter.tell();
    const int error = Taking{files, node, meter}.run(pages);
    if (error == 0)
        meter.tell();
    return error;
}

} // namespace mrz::hugepage

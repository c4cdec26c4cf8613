// SPDX-License-Identifier: BSD-3-Clause
#include "adapter.hpp"

#include <mrzone/frames.hpp>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include <unistd.h>

namespace mrz::soft {
namespace {

DmaView choose_view(const Pinner& pinner)
{
    if (!pinner.holds_frames()) {
        // Frames of locked memory may move, and another key's memory may come to lie where they were: tables of
        // frames would then lead to wrong bytes.
        log_once(Severity::warning,
                 std::string{"soft: io_uring cannot be used ("} + std::strerror(pinner.refused()) +
                     "; a container's seccomp profile or kernel.io_uring_disabled may forbid it), so memory is only "
                     "locked, by mlock2: its frames may move, and the adapter's tables hold virtual addresses");
        return DmaView::virtual_addresses;
    }
    if (!frames_can_be_read()) {
        log_once(Severity::warning, "soft: frames cannot be read without CAP_SYS_ADMIN, so the adapter's tables hold "
                                    "virtual addresses: entries tell nothing about how memory lies");
        return DmaView::virtual_addresses;
    }
    return DmaView::frames;
}

} // namespace

std::shared_ptr<Adapter> Adapter::get()
{
    static std::mutex mutex;
    static std::weak_ptr<Adapter> present;
    const std::scoped_lock guard{mutex};
    std::shared_ptr<Adapter> adapter = present.lock();
    if (!adapter || !adapter->is_here()) {
        adapter = std::make_shared<Adapter>();
        present = adapter;
    }
    return adapter;
}

hca::HcaOptions Adapter::default_options()
{
    hca::HcaOptions options;
    // Caches of 8192 translations and 2048 keys.
    options.mtt_cache = {.sets = 1024, .ways = 8};
    options.mpt_cache = {.sets = 256, .ways = 8};
    return options;
}

Adapter::Adapter(const hca::HcaOptions& options)
    : engine_{bus_, options}, view_{choose_view(pinner_)}, keeper_{engine_}
{
    if (::getentropy(&token_, sizeof token_) != 0)
        throw Error{errno,
                    {.trouble = Trouble::internal,
                     .what = "opening the software adapter",
                     .limit = "getentropy failed",
                     .remedy = "check that the kernel has random numbers"}};
}

} // namespace mrz::soft

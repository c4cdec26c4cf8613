// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Events of the kernel, for the life of an object.
#pragma once

#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace mrz::test {

//! Records tracepoints ("iommu/map") or probes. One at a time, on a machine that nobody else traces. Throws where the
//! kernel has no such event.
class KernelTrace {
  public:
    explicit KernelTrace(std::vector<std::string> events) : events_{std::move(events)}
    {
        clear();
        for (const std::string& event : events_)
            if (!write("events/" + event + "/enable", "1"))
                throw std::runtime_error{"the kernel has no event " + event};
        write("tracing_on", "1");
    }
    KernelTrace(const KernelTrace&) = delete;
    KernelTrace& operator=(const KernelTrace&) = delete;
    ~KernelTrace()
    {
        for (const std::string& event : events_)
            write("events/" + event + "/enable", "0");
    }

    //! What happened since the begin, or since clear(); throws if there was more than the kernel could keep.
    [[nodiscard]] static std::vector<std::string> lines()
    {
        std::ifstream file{place + "trace"};
        std::vector<std::string> found;
        for (std::string line; std::getline(file, line);) {
            // "# entries-in-buffer/entries-written: 12/12   #P:2"
            unsigned long kept = 0;
            unsigned long written = 0;
            if (std::sscanf(line.c_str(), "# entries-in-buffer/entries-written: %lu/%lu", &kept, &written) == 2 &&
                kept != written)
                throw std::runtime_error{"the kernel could not keep all events"};
            if (!line.starts_with('#'))
                found.push_back(std::move(line));
        }
        return found;
    }
    static void clear() { write("trace", ""); }

  private:
    static inline const std::string place = "/sys/kernel/tracing/";

    static bool write(const std::string& file, const std::string& text)
    {
        // Opening "trace" to truncate it is what clears it.
        const int fd = ::open((place + file).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
        const bool done = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
        if (fd >= 0)
            ::close(fd);
        return done;
    }

    std::vector<std::string> events_;
};

} // namespace mrz::test

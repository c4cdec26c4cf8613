// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/host.hpp>

#include "files.hpp"

namespace mrz::host {
namespace {

// Counted in passing: a process at its limit of mappings may be unable to map room for the whole text.
class MappingCounter {
  public:
    void take(std::string_view chunk)
    {
        for (std::size_t end = 0; (end = chunk.find('\n')) != std::string_view::npos; chunk.remove_prefix(end + 1)) {
            line_ += chunk.substr(0, end);
            end_line();
        }
        line_ += chunk;
    }
    std::uint64_t finish()
    {
        if (!line_.empty())
            end_line();
        return count_;
    }

  private:
    void end_line()
    {
        // Listed, but not among those that the kernel limits (arch/x86/entry/vsyscall: the gate area).
        if (!line_.ends_with("[vsyscall]"))
            ++count_;
        line_.clear();
    }
    std::string line_;
    std::uint64_t count_ = 0;
};

} // namespace

Mappings mappings(const Root& root)
{
    Mappings result;
    if (const auto max = root.number("/proc/sys/vm/max_map_count"))
        result.max = Limit::of(*max);
    MappingCounter counter;
    if (read_in_chunks(root("/proc/self/maps"), [&](std::string_view chunk) { counter.take(chunk); }))
        result.used = counter.finish();
    return result;
}

} // namespace mrz::host

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! An RDMA write of the software adapter, posted and polled one at a time, beside what it comes down to: a memcpy of
//! the same bytes.
#include "machine.hpp"
#include "subject.hpp"
#include "touched_memory.hpp"

#include <common/loopback.hpp>

#include <mrzone/region.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace bench {

namespace {

//! Bytes to copy, and where to.
struct Buffers {
    explicit Buffers(std::size_t length)
        : source_pages{Pages::small, length},
          target_pages{Pages::small, length}, source{source_pages.bytes()}, target{target_pages.bytes()}
    {
        std::fill(source.begin(), source.end(), std::byte{0xa5});
    }
    //! For the end of a run.
    void check() const
    {
        if (!std::equal(source.begin(), source.end(), target.begin()))
            throw std::runtime_error{"the bytes did not arrive"};
    }

    TouchedMemory source_pages;
    TouchedMemory target_pages;
    std::span<std::byte> source;
    std::span<std::byte> target;
};

void count_bytes(benchmark::State& state, std::size_t length)
{
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(length));
}

void post_poll(benchmark::State& state, std::size_t length)
{
    run(state, [&] {
        const Buffers buffers{length};
        const auto domain = soft_domain();
        const auto from = domain.register_memory(buffers.source);
        const auto to = domain.register_memory(buffers.target, mrz::Access::local_write | mrz::Access::remote_write);
        mrz::app::Loopback loopback{domain};
        const mrz::Segment segment{from.iova(), static_cast<std::uint32_t>(length), from.lkey()};
        const mrz::SendRequest request{.opcode = mrz::Opcode::rdma_write,
                                       .segments = {&segment, 1},
                                       .remote_iova = to.iova(),
                                       .rkey = to.rkey()};
        for ([[maybe_unused]] auto iteration : state)
            must_succeed(loopback.run(request));
        buffers.check();
        count_bytes(state, length);
    });
}

void copy(benchmark::State& state, std::size_t length)
{
    run(state, [&] {
        const Buffers buffers{length};
        for ([[maybe_unused]] auto iteration : state) {
            std::memcpy(buffers.target.data(), buffers.source.data(), length);
            benchmark::ClobberMemory();
        }
        buffers.check();
        count_bytes(state, length);
    });
}

[[maybe_unused]] const bool subjects = [] {
    for (const std::size_t length : {std::size_t{64}, 4_KiB, 1_MiB}) {
        const std::string text = std::to_string(length);
        for (auto* subject : {benchmark::RegisterBenchmark(("post_poll/soft/" + text).c_str(), post_poll, length),
                              benchmark::RegisterBenchmark(("memcpy/" + text).c_str(), copy, length)})
            subject->UseRealTime()->MinTime(0.05);
    }
    return true;
}();

} // namespace

} // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
#include <hca/queue_pair.hpp>

#include <array>

namespace mrz::hca {

std::string_view to_string(QpType type) noexcept
{
    return type == QpType::rc ? "RC" : "UD";
}

std::string_view to_string(QpState state) noexcept
{
    static constexpr std::array<std::string_view, 7> names = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    const auto number = static_cast<std::size_t>(state);
    return number < names.size() ? names[number] : "unknown";
}

std::chrono::microseconds rnr_delay(std::uint8_t timer) noexcept
{
    static constexpr std::array<unsigned, 32> hundredths_of_ms = {
        65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
        256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    return std::chrono::microseconds{10} * hundredths_of_ms[timer % hundredths_of_ms.size()];
}

std::optional<std::chrono::nanoseconds> answer_timeout(std::uint8_t timeout) noexcept
{
    if (timeout == 0)
        return std::nullopt;
    return std::chrono::nanoseconds{4096} * (std::int64_t{1} << (timeout % 32));
}

QueuePair::QueuePair(std::uint32_t number, const QpOptions& options)
    : number_{number}, options_{options}, send_queue_{options.send},
      receive_queue_{options.srq ? QueueLimits{0, 0, 0} : options.receive,
                     options.srq ? nullptr : options.receive_source}
{
}

bool QueuePair::fail(QpState state) noexcept
{
    QpState present = state_.load(std::memory_order_acquire);
    for (;;) {
        if (present == QpState::err || present == QpState::reset)
            return false;
        if (state_.compare_exchange_weak(present, state, std::memory_order_acq_rel))
            return true;
    }
}

} // namespace mrz::hca

// SPDX-License-Identifier: BSD-3-Clause
#include "task.hpp"

#include <array>
#include <atomic>
#include <optional>
#include <utility>

namespace mrz::perf {
namespace {

using Clock = std::chrono::steady_clock;

//! One line, one operation after the other.
class OneLine : public Task {
  public:
    OneLine(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator, Shared& shared)
        : line_{line}, use_{use}, shared_{shared}, initiator_{std::move(initiator)}, idle_{shared}
    {
    }

    [[nodiscard]] std::vector<std::uint64_t> operations() const override { return {initiator_->begun()}; }
    [[nodiscard]] const Latencies* latencies() const noexcept override { return &latencies_; }

  protected:
    [[nodiscard]] bool more() const noexcept
    {
        return !shared_.stopping.load(std::memory_order_relaxed) &&
               (use_.step.operations == 0 || initiator_->begun() < use_.step.operations);
    }
    [[nodiscard]] bool leave() const noexcept { return shared_.abandoned.load(std::memory_order_relaxed); }
    //! \return whether there was anything.
    bool take_completions()
    {
        std::array<Completion, 16> completions;
        const std::size_t count = line_.connection->queue_pair().poll(completions);
        for (const Completion& one : std::span{completions}.first(count)) {
            if ((one.id & Receiver::mark) == 0)
                initiator_->complete(one);
            else
                received(one);
        }
        if (count > 0)
            initiator_->quiescent();
        return count > 0;
    }
    virtual void received(const Completion& one) { throw failure_of(one); }
    //! Until \p happened; or until abandoned.
    template <class Happened>
    void await(Happened happened, bool under_way = true)
    {
        idle_.reset();
        while (!leave()) {
            // What is looked at costs less than a look at completions.
            for (unsigned i = 0; i < 16; ++i)
                if (happened())
                    return;
            if (!take_completions())
                idle_.wait(lines_, under_way);
        }
    }
    void await_completions()
    {
        await([this] { return initiator_->completed() == initiator_->begun(); });
    }

    Line& line_;
    const LineUse use_;
    Shared& shared_;
    std::unique_ptr<Initiator> initiator_;
    Latencies latencies_;
    Idle idle_;
    const std::vector<Line*> lines_{&line_};
};

class OneSided final : public OneLine {
  public:
    using OneLine::OneLine;

    void begin_all() override
    {
        while (more() && !leave()) {
            const auto begin = Clock::now();
            initiator_->begin(1, true);
            await_completions();
            latencies_.add(Clock::now() - begin);
        }
    }
    void expect(unsigned, std::uint64_t) noexcept override {}
};

//! The client begins and the server answers.
class PingPong final : public OneLine {
  public:
    PingPong(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator, Shared& shared)
        : OneLine{line, use, std::move(initiator), shared}, slots_{use.slots()}, sent_{Pattern::brought(use.step.seed,
                                                                                                        !use.server,
                                                                                                        line.number)},
          received_before_{line.receiver ? line.receiver->received() : 0}
    {
    }

    void begin_all() override
    {
        if (use_.server) {
            answer();
            return;
        }
        while (more() && !leave()) {
            const auto begin = Clock::now();
            begin_one();
            const std::uint64_t number = initiator_->begun();
            await([&] { return has_come(number); });
            latencies_.add((Clock::now() - begin) / 2);
        }
        await_completions();
    }
    void expect(unsigned, std::uint64_t operations) noexcept override { expected_ = operations; }

  private:
    void answer()
    {
        for (std::uint64_t number = 1;; ++number) {
            bool last = false;
            // How many the client began is known only when it has had all the answers.
            await(
                [&] {
                    last = expected_.load(std::memory_order_acquire) < number;
                    return last || has_come(number);
                },
                false);
            if (last || leave())
                break;
            begin_one();
        }
        await_completions();
    }
    void begin_one()
    {
        if (initiator_->room() == 0) // the answer came before the completion of what it answers
            await([this] { return initiator_->room() > 0; });
        if (leave())
            return;
        if (use_.settings.operation == Operation::send)
            initiator_->begin(1, true);
        else
            initiator_->begin_counted(static_cast<std::byte>(initiator_->begun() + 1));
    }
    //! Whether the other end's operation \p number, counted from one, is here.
    [[nodiscard]] bool has_come(std::uint64_t number) const noexcept
    {
        if (use_.settings.operation == Operation::send)
            return line_.receiver->received() - received_before_ >= number;
        // The device writes it.
        const std::byte& last = line_.target[slots_.size() - 1];
        return std::atomic_ref{const_cast<std::byte&>(last)}.load(std::memory_order_acquire) ==
               static_cast<std::byte>(number);
    }
    void received(const Completion& one) override
    {
        if (one.status != WcStatus::success || !line_.receiver)
            throw failure_of(one);
        const std::uint64_t number = line_.receiver->received() - received_before_;
        line_.receiver->take(one, slots_.size(), use_.settings.verify ? &sent_ : nullptr, slots_.offset(number));
        line_.receiver->refill();
    }

    const Slots slots_;
    const Pattern sent_; //!< By the other end.
    const std::uint64_t received_before_;
    std::atomic<std::uint64_t> expected_ = std::numeric_limits<std::uint64_t>::max();
};

} // namespace

std::unique_ptr<Task> make_one_sided(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator,
                                     Shared& shared)
{
    return std::make_unique<OneSided>(line, use, std::move(initiator), shared);
}

std::unique_ptr<Task> make_ping_pong(Line& line, const LineUse& use, std::unique_ptr<Initiator> initiator,
                                     Shared& shared)
{
    return std::make_unique<PingPong>(line, use, std::move(initiator), shared);
}

} // namespace mrz::perf

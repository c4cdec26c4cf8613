// SPDX-License-Identifier: BSD-3-Clause
#include "client.hpp"

#include "from_peer.hpp"

#include "common/output.hpp"
#include "common/signals.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace mrz::perf {
namespace {

//! A name with colons is an address of IPv6.
std::string address_of(const ClientOptions& options)
{
    const bool bare = options.host.find(':') != std::string::npos && !options.host.starts_with('[');
    return (bare ? '[' + options.host + ']' : options.host) + ':' + options.port;
}

class Client {
  public:
    explicit Client(const ClientOptions& options)
        : options_{options}, address_{address_of(options)}, domain_{Domain::open(options.device)}
    {
        report_.device = domain_.name();
        report_.driver = domain_.driver();
        report_.reason = domain_.reason();
        report_.frames = domain_.dma_view() == DmaView::frames;
    }

    ClientReport run(const std::function<void(const ClientReport&)>& begin,
                     const std::function<void(std::span<const Row>)>& add)
    {
        const auto memory = make_memory(options_.memory, memory_needed(options_.settings));
        Lines lines{domain_, options_.settings, false, *memory};
        app::throw_if_interrupted();
        Channel channel{domain_,
                        [this](const QueuePairOptions& queue_pair, const std::function<void(QueuePair&)>& before) {
                            return connect({.role = Hello::Role::control}, queue_pair, before);
                        },
                        options_.patience};
        try {
            enter(channel, lines);
            begin(report_);
            begun_ = true;
            const Place place{domain_, options_.settings, lines, channel, options_.patience.silence};
            if (options_.refusals)
                report_.trials =
                    try_refusals(domain_, lines.all(), options_.settings.operation, options_.patience.silence);
            for (const std::size_t size : options_.sizes) {
                measure_size(place, size);
                const std::size_t count = options_.registrations.size();
                const auto rows = std::span{report_.rows}.last(count);
                if (!rows.front().rounds.empty())
                    add(rows);
                if (report_.interrupted)
                    break;
                if (options_.compare_tcp)
                    compare_tcp(place, report_.rows.back());
            }
            channel.send("bye");
        } catch (const app::Interrupted& failure) {
            channel.tell_failure(failure);
            lines.disconnect();
            if (!begun_)
                throw;
            report_.interrupted = true;
        } catch (const std::exception& failure) {
            channel.tell_failure(failure);
            lines.disconnect();
            throw;
        }
        return std::move(report_);
    }

  private:
    std::unique_ptr<Connection> connect(const Hello& hello, const QueuePairOptions& queue_pair,
                                        const std::function<void(QueuePair&)>& before)
    {
        const auto words = hello.pack();
        return domain_.connect(
            address_, {.queue_pair = queue_pair, .private_data = words, .timeout = options_.patience.connect},
            before);
    }

    void enter(Channel& channel, Lines& lines)
    {
        report_.peer = channel.peer();
        channel.send("settings", {{"settings", to_json(options_.settings)}});
        const Json welcome = channel.wait("welcome");
        report_.server_device = text_from(welcome, "device");
        report_.server_driver = text_from(welcome, "driver");
        const std::uint64_t session = number_from(welcome, "session");
        for (const Line& line : lines.all()) {
            lines.connect(line.number, [&](unsigned number, const QueuePairOptions& queue_pair,
                                           const std::function<void(QueuePair&)>& before) {
                return connect(
                    {.role = Hello::Role::data, .stream = static_cast<std::uint16_t>(number), .session = session},
                    queue_pair, before);
            });
        }
        channel.send("regions", lines.regions());
        lines.take_regions(channel.wait("regions"));
    }

    [[nodiscard]] std::uint64_t operations_of(std::size_t size) const
    {
        if (options_.operations == 0 || options_.exactly)
            return options_.operations;
        constexpr std::size_t bytes = 1_GiB;
        return std::clamp<std::uint64_t>(bytes / size, std::min<std::uint64_t>(16, options_.operations),
                                         options_.operations);
    }

    //! Those that are compared by turns, in another order each time.
    void measure_size(const Place& place, std::size_t size)
    {
        const std::size_t first = report_.rows.size();
        for (const TierKind registration : options_.registrations)
            report_.rows.push_back({.step = {.size = size,
                                             .registration = registration,
                                             .operations = operations_of(size),
                                             .duration = options_.duration,
                                             .seed = 0},
                                    .rounds = {}});
        std::vector<std::size_t> order(options_.registrations.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = first + i;
        std::vector<Results> round(order.size());
        for (unsigned number = 0; number < options_.rounds && !report_.interrupted; ++number) {
            std::ranges::shuffle(order, random_);
            for (const std::size_t at : order) {
                Step step = report_.rows[at].step;
                step.seed = random_() >> 1; // whole numbers that any JSON reader takes
                round[at - first] = run_as_client(place, step);
                report_.interrupted |= app::pending_interrupt() != 0;
                // What was cut short has no partner in this round; alone it is a result so far.
                if (report_.interrupted)
                    break;
            }
            if (!report_.interrupted || (order.size() == 1 && round.front().client.bytes > 0))
                for (std::size_t i = 0; i < order.size(); ++i)
                    report_.rows[first + i].rounds.push_back(round[i]);
        }
    }

    void compare_tcp(const Place& place, const Row& row)
    {
        const TcpPlan plan{.size = row.step.size,
                           .bytes = row.rounds.back().client.bytes / options_.settings.streams(),
                           .from_server = options_.settings.operation == Operation::read};
        report_.tcp.push_back(
            {.size = plan.size,
             .results = tcp_as_client(place.channel, options_.host, plan, place.lines.all(), place.silence)});
    }

    const ClientOptions& options_;
    const std::string address_;
    Domain domain_;
    ClientReport report_;
    bool begun_ = false; //!< Results are to be printed, however few.
    std::mt19937_64 random_{1};
};

} // namespace

ClientReport measure(const ClientOptions& options, const std::function<void(const ClientReport&)>& begin,
                     const std::function<void(std::span<const Row>)>& add)
{
    return Client{options}.run(begin, add);
}

} // namespace mrz::perf

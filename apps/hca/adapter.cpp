// SPDX-License-Identifier: BSD-3-Clause
#include "adapter.hpp"

#include "adapter_state.hpp"

#include <algorithm>
#include <utility>

namespace mrz {
namespace {

// Where a ConnectX has them.
constexpr std::uint32_t msix_table = 0x2000;
constexpr std::uint32_t msix_pending = 0x3000;
constexpr std::uint64_t uar_bytes = 4096;

pci::Function function_of(const firmware::Settings& settings)
{
    return {.vendor = 0x15b3,
            .device = 0x1019, // MT28800: ConnectX-5 Ex
            .subsystem_vendor = 0x15b3,
            .subsystem = 0x0007,
            .revision = 0,
            .class_code = settings.link == firmware::LinkType::infiniband ? 0x02'0700U : 0x02'0000U,
            .bar_bytes = settings.bar_bytes,
            .vectors = settings.vectors,
            .msix_table = msix_table,
            .msix_pending = msix_pending};
}

hca::HcaOptions engine_options(hca::HcaOptions options, queues::Inbox& inbox)
{
    options.on_event = [&inbox](const hca::Event& event) { inbox.happened(event); };
    return options;
}

} // namespace

Adapter::Adapter(const AdapterOptions& options, dma::Memory& memory, vfio_user::Interrupts& interrupts)
    : memory_{memory}, engine_{memory, engine_options(options.engine, inbox_)}, firmware_{engine_, memory,
                                                                                          options.settings},
      path_{{.engine = engine_,
             .bus = memory,
             .event_queues = event_queues_,
             .change_key = [this](const firmware::KeyChange& change) { firmware_.keys().change(change); },
             .inbox = inbox_,
             .router = {},
             .lid = options.settings.lid}},
      event_queue_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      completion_queue_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      shared_receive_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      queue_pair_commands_{{firmware_.context(), path_, event_queues_, interrupts}}, thread_{path_},
      config_{function_of(options.settings)}
{
    event_queue_commands_.add_to(firmware_.commands());
    completion_queue_commands_.add_to(firmware_.commands());
    shared_receive_commands_.add_to(firmware_.commands());
    queue_pair_commands_.add_to(firmware_.commands());
    exclusively([this] { memory_.let_answer(false); }); // until the guest lets it
    firmware_.start(&command_events_);
}

Adapter::~Adapter()
{
    // Objects of commands hold queues: they go while there still are some.
    firmware_.reset();
}

void Adapter::exclusively(const std::function<void()>& change)
{
    const auto paused = engine_.pause();
    memory_.exclusively(change);
}

void Adapter::read_config(std::uint64_t offset, std::span<std::byte> bytes)
{
    const std::lock_guard lock{mutex_};
    if (removed_)
        std::ranges::fill(bytes, std::byte{0xff});
    else
        config_.read(offset, bytes);
}

void Adapter::write_config(std::uint64_t offset, std::span<const std::byte> bytes)
{
    const std::lock_guard lock{mutex_};
    if (removed_)
        return;
    if (config_.write(offset, bytes)) {
        log(Severity::info, "function-level reset");
        firmware_.reset();
        config_.reset();
    }
    follow_bus_mastering();
}

//! A function that may not begin transfers reads and writes nothing of the guest's memory.
void Adapter::follow_bus_mastering()
{
    const bool may = config_.bus_master() && !removed_;
    if (std::exchange(reaches_memory_, may) != may)
        exclusively([this, may] { memory_.let_answer(may); });
}

void Adapter::read_bar(std::uint64_t offset, std::span<std::byte> bytes)
{
    constexpr std::uint64_t firmware_bytes = firmware::InitializationSegment::bytes;
    const std::lock_guard lock{mutex_};
    // Doorbells are written only.
    std::ranges::fill(bytes, removed_ ? std::byte{0xff} : std::byte{0});
    if (!removed_ && offset < firmware_bytes)
        firmware_.read(offset, bytes.first(static_cast<std::size_t>(
                                   std::min<std::uint64_t>(bytes.size(), firmware_bytes - offset))));
}

void Adapter::write_bar(std::uint64_t offset, std::span<const std::byte> bytes)
{
    constexpr std::uint64_t firmware_bytes = firmware::InitializationSegment::bytes;
    const std::lock_guard lock{mutex_};
    if (removed_)
        return;
    if (offset < firmware_bytes) {
        const auto its = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), firmware_bytes - offset));
        firmware_.write(offset, bytes.first(its));
        offset += its;
        bytes = bytes.subspan(its);
    }
    ring(offset, bytes);
}

void Adapter::ring(std::uint64_t offset, std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        const std::uint64_t in_page = offset % uar_bytes;
        const auto its = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), uar_bytes - in_page));
        path_.ring(static_cast<std::uint32_t>(offset / uar_bytes), in_page, bytes.first(its));
        offset += its;
        bytes = bytes.subspan(its);
    }
}

void Adapter::reset()
{
    const std::lock_guard lock{mutex_};
    firmware_.reset();
    config_.reset();
    removed_ = false;
    follow_bus_mastering();
}

void Adapter::remove()
{
    const std::lock_guard lock{mutex_};
    removed_ = true;
    firmware_.reset();
    follow_bus_mastering();
}

} // namespace mrz

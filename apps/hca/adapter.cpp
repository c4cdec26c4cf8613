// SPDX-License-Identifier: BSD-3-Clause
#include "adapter.hpp"

#include "adapter_state.hpp"

#include <algorithm>
#include <array>
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

// Over Ethernet a peer is where its address is, which has to be one of the port's own: there is no wire.
queues::Router roce_router(const firmware::RoceAddresses& addresses)
{
    return [&addresses](const queues::PeerAddress& peer) {
        const auto source = addresses.find(peer.source);
        queues::Route route;
        route.reachable = source && addresses.takes(*source, peer.gid, peer.mac);
        route.source = source;
        return route;
    };
}

hca::HcaOptions engine_options(hca::HcaOptions options, queues::Inbox& inbox)
{
    options.on_event = [&inbox](const hca::Event& event) { inbox.happened(event); };
    options.idle_outlive_links = true;
    return options;
}

fabric::PortAddress address_of(const firmware::Settings& settings)
{
    return {.lid = settings.lid, .guid = settings.guid};
}

} // namespace

Adapter::Adapter(const AdapterOptions& options, dma::Memory& memory, vfio_user::Interrupts& interrupts)
    : memory_{memory}, engine_{memory, engine_options(options.engine, inbox_)},
      firmware_{engine_, memory, options.settings}, fabric_{engine_, address_of(options.settings), options.links,
                                                            [this] { inbox_.wake(); }},
      path_{{.engine = engine_,
             .bus = memory,
             .event_queues = event_queues_,
             .change_key = [this](const firmware::KeyChange& change) { firmware_.keys().change(change); },
             .inbox = inbox_,
             .router = options.settings.link == firmware::LinkType::infiniband
                           ? [this](const queues::PeerAddress& peer) { return fabric_.route(peer); }
                           : roce_router(firmware_.roce_addresses()),
             .lid = options.settings.lid,
             .gid = gid_of(address_of(options.settings)),
             .ethernet = options.settings.link == firmware::LinkType::ethernet}},
      event_queue_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      completion_queue_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      shared_receive_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      queue_pair_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      send_queue_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      receive_queue_commands_{{firmware_.context(), path_, event_queues_, interrupts}},
      flow_tables_{firmware_.context()}, thread_{path_, &fabric_}, config_{function_of(options.settings)}
{
    event_queue_commands_.add_to(firmware_.commands());
    completion_queue_commands_.add_to(firmware_.commands());
    shared_receive_commands_.add_to(firmware_.commands());
    queue_pair_commands_.add_to(firmware_.commands());
    if (options.settings.link == firmware::LinkType::ethernet) {
        send_queue_commands_.add_to(firmware_.commands());
        receive_queue_commands_.add_to(firmware_.commands());
        ethernet::add_queue_tables(firmware_.commands(), firmware_.context());
        ethernet::add_ways_to_send(firmware_.commands(), firmware_.context());
        ethernet::add_ways_to_receive(firmware_.commands(), firmware_.context());
        flow_tables_.add_to(firmware_.commands());
    }
    firmware_.set_port_hooks({.changed = [this](bool up) { tell_of_port(up); },
                              .packets_dropped = [this] { return path_.packets_dropped(); }});
    exclusively([this] { memory_.let_answer(false); }); // until the guest lets it
    firmware_.start(&command_events_);
}

Adapter::~Adapter()
{
    // Objects of commands hold queues: they go while there still are some.
    firmware_.reset();
}

void Adapter::tell_of_port(bool up)
{
    std::array<std::byte, layouts::eqe_port_state::bytes> data{};
    layouts::set(data, layouts::eqe_port_state::port, 1U << 4);
    event_queues_.post(layouts::EventType::port_change, up ? layouts::port_change_active : layouts::port_change_down,
                       data);
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

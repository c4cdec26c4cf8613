// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include "common/output.hpp"

#include <mrzone/base.hpp>

#include <fmt/format.h>
#include <net/if.h>
#include <rte_errno.h>

#include <cerrno>
#include <string>
#include <utility>

namespace mrz::testpmd {
namespace {

[[noreturn]] void refuse(std::uint16_t id, std::string_view doing, int status, std::string remedy)
{
    const int error_number = status < 0 ? -status : EIO;
    throw Error{error_number, Cause{.trouble = Trouble::unsupported,
                                    .what = fmt::format("{} port {}", doing, id),
                                    .limit = fmt::format("the driver answers \"{}\"", rte_strerror(error_number)),
                                    .remedy = std::move(remedy)}};
}

// Where nothing is left to be done about it.
void say_failure(std::uint16_t id, std::string_view doing, int status)
{
    if (status != 0)
        app::say("{} port {}: the driver answers \"{}\"", doing, id, rte_strerror(-status));
}

void check_queues(std::uint16_t id, const char* option, std::uint16_t asked, std::uint16_t most)
{
    if (asked > most)
        throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                  .what = fmt::format("configuring port {}", id),
                                  .limit = fmt::format("queues of the device ({})", option),
                                  .present = most,
                                  .need = asked,
                                  .remedy = fmt::format("give {}={} or less", option, most)}};
}

// What a driver adds to an MTU, as it tells by its limits.
std::uint32_t frame_overhead(const rte_eth_dev_info& info)
{
    if (info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu)
        return info.max_rx_pktlen - info.max_mtu;
    return RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
}

std::uint16_t first_set(std::uint16_t asked, std::uint16_t preferred, std::uint16_t fallback)
{
    return asked != 0 ? asked : preferred != 0 ? preferred : fallback;
}

} // namespace

std::uint16_t receive_descriptors(const rte_eth_dev_info& info, const PortOptions& options)
{
    return first_set(options.rx_descriptors, info.default_rxportconf.ring_size, RTE_ETH_DEV_FALLBACK_RX_RINGSIZE);
}

std::uint16_t transmit_descriptors(const rte_eth_dev_info& info, const PortOptions& options)
{
    return first_set(options.tx_descriptors, info.default_txportconf.ring_size, RTE_ETH_DEV_FALLBACK_TX_RINGSIZE);
}

rte_eth_dev_info info_of(std::uint16_t id)
{
    rte_eth_dev_info info = {};
    if (const int status = rte_eth_dev_info_get(id, &info); status != 0)
        refuse(id, "asking about", status, "leave the port out");
    return info;
}

std::string_view to_string(Port::State state) noexcept
{
    switch (state) {
    case Port::State::stopped:
        return "stopped";
    case Port::State::started:
        return "started";
    case Port::State::closed:
        return "closed";
    case Port::State::gone:
        return "gone";
    }
    return "unknown";
}

Port::Port(std::uint16_t id, const PortOptions& options, rte_mempool* pool) : id_{id}, options_{options}, pool_{pool}
{
    const rte_eth_dev_info info = info_of(id);
    driver_ = info.driver_name;
    interface_ = info.if_index;
    try {
        configure(info);
    } catch (...) {
        rte_eth_dev_close(id);
        throw;
    }
}

void Port::configure(const rte_eth_dev_info& info)
{
    check_queues(id_, "--rxq", options_.rx_queues, info.max_rx_queues);
    check_queues(id_, "--txq", options_.tx_queues, info.max_tx_queues);
    const rte_eth_conf conf = conf_for(info);
    if (const int status = rte_eth_dev_configure(id_, options_.rx_queues, options_.tx_queues, &conf); status != 0)
        refuse(id_, "configuring", status, "see the driver's message above; try fewer options");
    tx_offloads_ = conf.txmode.offloads;
    options_.rx_descriptors = receive_descriptors(info, options_);
    options_.tx_descriptors = transmit_descriptors(info, options_);
    const auto [rx_before, tx_before] = std::pair{options_.rx_descriptors, options_.tx_descriptors};
    if (const int status = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &options_.rx_descriptors, &options_.tx_descriptors);
        status != 0)
        refuse(id_, "choosing descriptors of", status, "give other --rxd and --txd");
    if (rx_before != options_.rx_descriptors || tx_before != options_.tx_descriptors)
        app::say("port {} gets {} receive and {} transmit descriptors a queue: what its driver takes", id_,
                 options_.rx_descriptors, options_.tx_descriptors);

    const int node = rte_eth_dev_socket_id(id_);
    const auto socket = node < 0 ? static_cast<unsigned>(SOCKET_ID_ANY) : static_cast<unsigned>(node);
    for (std::uint16_t queue = 0; queue < options_.tx_queues; ++queue) {
        rte_eth_txconf tx = info.default_txconf;
        tx.offloads = conf.txmode.offloads;
        if (const int status = rte_eth_tx_queue_setup(id_, queue, options_.tx_descriptors, socket, &tx); status != 0)
            refuse(id_, fmt::format("setting up transmit queue {} of", queue), status,
                   "see the driver's message above; try another --txd");
    }
    for (std::uint16_t queue = 0; queue < options_.rx_queues; ++queue) {
        rte_eth_rxconf rx = info.default_rxconf;
        rx.offloads = conf.rxmode.offloads;
        if (const int status = rte_eth_rx_queue_setup(id_, queue, options_.rx_descriptors, socket, &rx, pool_);
            status != 0)
            refuse(id_, fmt::format("setting up receive queue {} of", queue), status,
                   "see the driver's message above; try another --rxd, or --mp-alloc=native");
    }
    rte_eth_macaddr_get(id_, &address_);
}

rte_eth_conf Port::conf_for(const rte_eth_dev_info& info) const
{
    rte_eth_conf conf = {};
    if (options_.max_packet) {
        if (*options_.max_packet > info.max_rx_pktlen)
            throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                      .what = fmt::format("configuring port {}", id_),
                                      .limit = "bytes of the device's longest packet (--max-pkt-len)",
                                      .present = info.max_rx_pktlen,
                                      .need = *options_.max_packet,
                                      .remedy = fmt::format("give --max-pkt-len={} or less", info.max_rx_pktlen)}};
        conf.rxmode.mtu = *options_.max_packet - frame_overhead(info);
    }
    // More than a buffer holds comes, and goes, in several.
    const std::uint32_t room = rte_pktmbuf_data_room_size(pool_) - std::uint32_t{RTE_PKTMBUF_HEADROOM};
    if (options_.max_packet.value_or(RTE_ETHER_MAX_LEN) > room)
        conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER & info.rx_offload_capa;
    if (options_.rx_checksums)
        conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_CHECKSUM & info.rx_offload_capa;
    conf.txmode.offloads = (RTE_ETH_TX_OFFLOAD_MULTI_SEGS | options_.tx_offloads) & info.tx_offload_capa;
    if (options_.rx_queues > 1) {
        conf.rx_adv_conf.rss_conf.rss_hf =
            (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP) & info.flow_type_rss_offloads;
        if (conf.rx_adv_conf.rss_conf.rss_hf != 0)
            conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    }
    return conf;
}

Port::Port(Port&& other) noexcept
    : id_{other.id_}, options_{other.options_}, pool_{other.pool_}, driver_{std::move(other.driver_)},
      interface_{other.interface_}, address_{other.address_},
      tx_offloads_{other.tx_offloads_}, state_{std::exchange(other.state_, State::closed)}
{
}

Port::~Port()
{
    close();
}

void Port::shut(State state)
{
    if (state_ == State::started)
        say_failure(id_, "stopping", rte_eth_dev_stop(id_));
    say_failure(id_, "closing", rte_eth_dev_close(id_));
    state_ = state;
}

void Port::start()
{
    if (state_ == State::started)
        return;
    if (state_ != State::stopped)
        throw Error{ENODEV, Cause{.trouble = Trouble::invalid,
                                  .what = fmt::format("starting port {}", id_),
                                  .limit = fmt::format("it is {}", to_string(state_)),
                                  .remedy = "start the program again to have it back"}};
    if (const int status = rte_eth_dev_start(id_); status != 0)
        refuse(id_, "starting", status, "see the driver's message above");
    state_ = State::started;
    // Virtual networks deliver to nobody else's address; few drivers lack this, and they say so in "show port info".
    rte_eth_promiscuous_enable(id_);
}

void Port::stop()
{
    if (state_ != State::started)
        return;
    if (const int status = rte_eth_dev_stop(id_); status != 0)
        refuse(id_, "stopping", status, "see the driver's message above");
    state_ = State::stopped;
}

void Port::close()
{
    if (open())
        shut(State::closed);
}

bool Port::vanished() const
{
    if (!open())
        return false;
    char name[IF_NAMESIZE];
    const bool nameless = interface_ != 0 && if_indextoname(interface_, name) == nullptr && errno == ENXIO;
    return nameless || rte_eth_dev_is_removed(id_) != 0;
}

void Port::close_if_vanished()
{
    if (!vanished())
        return;
    shut(State::gone);
    app::say("port {} ({}) is gone: what it stood on was taken away; it is closed", id_, driver_);
}

} // namespace mrz::testpmd

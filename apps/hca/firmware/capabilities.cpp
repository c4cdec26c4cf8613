// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/capabilities.hpp"

#include "layouts/capabilities.hpp"
#include "layouts/life.hpp"

#include <algorithm>
#include <bit>

namespace mrz::firmware {

namespace {

using layouts::get;

//! The largest power of two that \p limit holds, as its exponent.
unsigned log_of(std::uint64_t limit)
{
    return limit == 0 ? 0 : static_cast<unsigned>(std::bit_width(limit) - 1);
}

#define MRZ_FIXED(name, value)                                                                                       \
    Capability                                                                                                       \
    {                                                                                                                \
#name, name, value, value                                                                                    \
    }
#define MRZ_CHOSEN(name, value, at_start)                                                                            \
    Capability                                                                                                       \
    {                                                                                                                \
#name, name, value, at_start, true                                                                           \
    }

std::vector<Capability> general(const Settings& settings, const hca::HcaOptions& engine)
{
    using namespace layouts::cmd_hca_cap;
    const bool ethernet = settings.link == LinkType::ethernet;
    const unsigned qps = log_of(engine.max_qps);
    std::vector<Capability> capabilities{
        // What there may be of each.
        MRZ_FIXED(log_max_pd, log_of(engine.max_pds)),
        MRZ_FIXED(log_max_mkey, log_of(engine.keys.keys)),
        MRZ_FIXED(log_max_eq, settings.log_max_eq),
        MRZ_FIXED(max_num_eqs, 1U << settings.log_max_eq),
        MRZ_FIXED(log_max_eq_sz, settings.log_max_eq_entries),
        MRZ_FIXED(log_max_cq, log_of(engine.max_cqs)),
        MRZ_FIXED(log_max_cq_sz, log_of(engine.max_completions)),
        MRZ_CHOSEN(log_max_qp, qps, qps),
        MRZ_FIXED(log_max_qp_sz, log_of(engine.queues.work_requests)),
        MRZ_FIXED(log_max_srq, log_of(engine.max_srqs)),
        MRZ_FIXED(log_max_srq_sz, log_of(engine.queues.work_requests)),
        MRZ_FIXED(log_max_rmp, log_of(engine.max_srqs)),
        MRZ_FIXED(log_max_wq_sz, log_of(engine.queues.work_requests)),
        MRZ_FIXED(basic_cyclic_rcv_wqe, 1),
        MRZ_FIXED(log_max_xrcd, 16),
        MRZ_FIXED(log_max_transport_domain, 16),
        MRZ_FIXED(log_max_uctx, settings.log_max_uctx),
        MRZ_FIXED(uctx_cap, settings.log_max_uctx == 0 ? 0U : 3U), // raw transmit, and the device's own resources
        MRZ_FIXED(log_max_umem, settings.log_max_umem),
        // Memory keys.
        MRZ_FIXED(max_indirection, engine.keys.max_nesting),
        MRZ_FIXED(fixed_buffer_size, 1), // KSM
        MRZ_FIXED(log_max_klm_list_size, 16),
        MRZ_FIXED(log_max_mrw_sz, 63),
        MRZ_FIXED(null_mkey, 1),
        MRZ_FIXED(relaxed_ordering_write, 1), // it may reorder, and never does
        MRZ_FIXED(relaxed_ordering_read, 1),
        MRZ_FIXED(umr_extended_translation_offset, 1),
        MRZ_FIXED(umr_modify_entity_size_disabled, settings.umr_modifies_entity_size ? 0U : 1U),
        // Queue pairs and completions.
        MRZ_FIXED(rc, 1),
        MRZ_FIXED(ud, 1),
        MRZ_FIXED(xrc, 1), // Linux 6.1's mlx5_ib makes an XRC queue for itself, and does not load without
        MRZ_FIXED(max_wqe_sz_sq, 1024),
        MRZ_FIXED(max_wqe_sz_rq, 512),
        MRZ_FIXED(log_max_msg, std::min(log_of(engine.max_message), 30U)),
        MRZ_FIXED(log_max_ra_req_qp, 4),
        MRZ_FIXED(log_max_ra_res_qp, 4),
        MRZ_FIXED(cqe_version, 1),
        MRZ_FIXED(cq_moderation, 1),
        MRZ_FIXED(cq_resize, 1),
        MRZ_FIXED(cq_oi, 1),
        MRZ_FIXED(local_ca_ack_delay, 16),
        MRZ_FIXED(atomic, 1),
        // Doorbells: pages of 4 KiB, without BlueFlame, which needs write-combining that is not there.
        MRZ_FIXED(uar_sz, log_of(settings.bar_bytes >> 20)),
        MRZ_CHOSEN(uar_4k, 1, 1),
        MRZ_FIXED(log_bf_reg_size, 9),
        MRZ_CHOSEN(log_uar_page_sz, 0, 0),
        MRZ_CHOSEN(num_of_uars_per_page, 1, 1),
        // The port.
        MRZ_FIXED(num_ports, 1),
        MRZ_FIXED(port_type, ethernet ? 1U : 0U),
        MRZ_FIXED(ib_virt, ethernet ? 0U : 1U),        // ask for the port's attributes as a virtual port's
        MRZ_FIXED(gid_table_size, ethernet ? 5U : 0U), // 8 << this
        MRZ_CHOSEN(pkey_table_size, 0, 0),             // 128 << this
        MRZ_FIXED(roce, ethernet ? 1U : 0U),
        // The device.
        MRZ_FIXED(log_pg_sz, 12),
        MRZ_CHOSEN(cmdif_checksum, 0, 0),
        MRZ_FIXED(device_frequency_mhz, 1000), // the timer counts nanoseconds
        MRZ_FIXED(device_frequency_khz, 1'000'000),
        MRZ_FIXED(driver_version, 1),
        MRZ_FIXED(release_all_pages, 1),
    };
    if (ethernet)
        capabilities.insert(
            capabilities.end(),
            {
                MRZ_FIXED(eth_net_offloads, 1),
                MRZ_FIXED(nic_flow_table, 1),
                MRZ_FIXED(log_max_sq, settings.log_max_packet_queues),
                MRZ_FIXED(log_max_rq, settings.log_max_packet_queues),
                MRZ_FIXED(log_max_tis, settings.log_max_packet_queues),
                MRZ_FIXED(log_max_tir, settings.log_max_packet_queues),
                MRZ_FIXED(log_max_rqt, settings.log_max_packet_queues),
                MRZ_FIXED(log_max_rqt_size, settings.log_max_rqt_entries),
                // The driver writes back how many of its own addresses it wants to have.
                MRZ_CHOSEN(log_max_current_uc_list, settings.log_max_addresses, settings.log_max_addresses),
                MRZ_FIXED(log_max_current_mc_list, settings.log_max_addresses),
                MRZ_FIXED(log_max_vlan_list, settings.log_max_addresses),
            });
    return capabilities;
}

// What Linux's mlx5e demands before it makes a network device (dev.c, mlx5_eth_supported): of packets themselves
// there are none yet, so that no checksum is ever asked for.
std::vector<Capability> ethernet_group(const Settings& settings)
{
    using namespace layouts::per_protocol_networking_offload_caps;
    return {
        MRZ_FIXED(csum_cap, 1),
        MRZ_FIXED(vlan_cap, 1),
        MRZ_FIXED(self_lb_en_modifiable, 1),
        MRZ_FIXED(max_lso_cap, 18),
        MRZ_FIXED(wqe_inline_mode, 2), // no headers need be inline
        MRZ_FIXED(rss_ind_tbl_cap, settings.log_max_rqt_entries),
    };
}

// Without flow_modify_en the driver does not offer its users rules of their own.
std::vector<Capability> flow_table_group(const Settings& settings)
{
    using namespace layouts::flow_table_prop_layout;
    std::vector<Capability> capabilities{
        MRZ_FIXED(ft_support, 1),
        MRZ_FIXED(modify_root, 1),
        MRZ_FIXED(identified_miss_table_mode, 1),
        MRZ_FIXED(flow_table_modify, 1),
        MRZ_FIXED(log_max_ft_size, settings.log_max_flow_table_entries),
        MRZ_FIXED(max_ft_level, settings.most_flow_table_level),
        MRZ_FIXED(log_max_ft_num, settings.log_max_flow_tables),
        MRZ_FIXED(log_max_destination, settings.log_max_flow_destinations),
        MRZ_FIXED(log_max_flow, settings.log_max_flows),
    };
    for (Capability& capability : capabilities)
        capability.field = inside(layouts::flow_table_nic_cap::flow_table_properties_nic_receive, capability.field);
    return capabilities;
}

std::vector<Capability> atomic_group()
{
    using namespace layouts::atomic_caps;
    return {
        MRZ_CHOSEN(atomic_req_8B_endianness_mode, 1, 0), // 1: results are in the byte order of the host
        MRZ_FIXED(supported_atomic_req_8B_endianness_mode_1, 1),
        MRZ_FIXED(atomic_operations, 0x3),  // compare and swap, fetch and add
        MRZ_FIXED(atomic_size_qp, 1U << 3), // 8 bytes
    };
}

std::vector<Capability> roce_group()
{
    using namespace layouts::roce_cap;
    return {
        MRZ_FIXED(l3_type, 7),      // GRH, IPv4, IPv6
        MRZ_FIXED(roce_version, 5), // 1 and 2
        MRZ_FIXED(r_roce_dest_udp_port, 4791),
        MRZ_FIXED(r_roce_max_src_udp_port, 0xffff),
        MRZ_FIXED(r_roce_min_src_udp_port, 0xc000),
        MRZ_FIXED(roce_address_table_size, 256),
    };
}

#undef MRZ_FIXED
#undef MRZ_CHOSEN

} // namespace

Capabilities::Capabilities(const Context& context)
{
    advertised_.emplace(CapabilityGroup::general, general(context.settings, context.engine.options()));
    advertised_.emplace(CapabilityGroup::atomic, atomic_group());
    if (context.settings.link == LinkType::ethernet) {
        advertised_.emplace(CapabilityGroup::ethernet, ethernet_group(context.settings));
        advertised_.emplace(CapabilityGroup::roce, roce_group());
        advertised_.emplace(CapabilityGroup::flow_table, flow_table_group(context.settings));
    }
    reset();
}

void Capabilities::add_to(Commands& commands)
{
    commands.add(
        {0x100, "QUERY_HCA_CAP", 16, 16 + group_bytes, [this](const Command& command) { query(command); }, true});
    commands.add(
        {0x109, "SET_HCA_CAP", 16 + group_bytes, 16, [this](const Command& command) { set(command); }, true});
}

void Capabilities::reset()
{
    for (const auto& [number, capabilities] : advertised_) {
        Values& values = current_[number];
        values = {};
        for (const Capability& capability : capabilities)
            layouts::set(values, capability.field, capability.at_start);
    }
}

std::uint64_t Capabilities::current(CapabilityGroup group, layouts::Field field) const
{
    const auto found = current_.find(group);
    return found == current_.end() ? 0 : get(found->second, field);
}

const std::vector<Capability>& Capabilities::group(std::uint16_t number) const
{
    const auto found = advertised_.find(static_cast<CapabilityGroup>(number));
    if (found == advertised_.end())
        throw Refusal{Status::bad_param, "this device does not have the capabilities " + format_hex(number)};
    return found->second;
}

void Capabilities::query(const Command& command) const
{
    const auto number = static_cast<std::uint16_t>(command.op_mod >> 1);
    const bool now = (command.op_mod & 1) != 0;
    const std::vector<Capability>& capabilities = group(number);
    if (layouts::is_set(command.in, layouts::query_hca_cap_in::other_function))
        throw Refusal{Status::bad_param, "there is no other function"};
    const std::span<std::byte> out = part(command.out, layouts::query_hca_cap_out::capability);
    if (now)
        std::ranges::copy(current_.at(static_cast<CapabilityGroup>(number)), out.begin());
    else
        for (const Capability& capability : capabilities)
            layouts::set(out, capability.field, capability.value);
}

void Capabilities::set(const Command& command)
{
    const auto number = static_cast<std::uint16_t>(command.op_mod >> 1);
    const std::vector<Capability>& capabilities = group(number);
    if (layouts::is_set(command.in, layouts::set_hca_cap_in::other_function))
        throw Refusal{Status::bad_param, "there is no other function"};
    // For the general group the driver changes some fields of what it was told; for others it gives those alone that
    // it means (main.c, handle_hca_cap and handle_hca_cap_atomic).
    const bool whole = number == static_cast<std::uint16_t>(CapabilityGroup::general);
    const std::span<const std::byte> wanted = part(command.in, layouts::set_hca_cap_in::capability);
    Values left = {};
    std::copy_n(wanted.begin(), group_bytes, left.begin());
    Values values = current_.at(static_cast<CapabilityGroup>(number));
    for (const Capability& capability : capabilities) {
        const std::uint64_t value = get(wanted, capability.field);
        layouts::set(left, capability.field, 0);
        if (value == get(values, capability.field) || (!whole && value == 0))
            continue;
        if (!capability.chosen || value > capability.value)
            throw Refusal{Status::bad_param,
                          std::string{capability.name} + " cannot become " + std::to_string(value)};
        layouts::set(values, capability.field, value);
    }
    const auto refuse_any = [](std::span<const std::byte> bytes, std::size_t first) {
        const auto odd = std::ranges::find_if(bytes, [](std::byte byte) { return byte != std::byte{}; });
        if (odd != bytes.end())
            throw Refusal{Status::bad_param, "what byte " +
                                                 format_hex(first + static_cast<std::uint64_t>(odd - bytes.begin())) +
                                                 " asks for is not advertised"};
    };
    refuse_any(left, 0);
    refuse_any(wanted.subspan(group_bytes), group_bytes);
    current_.at(static_cast<CapabilityGroup>(number)) = values;
}

} // namespace mrz::firmware

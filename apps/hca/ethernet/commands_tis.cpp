// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet/commands.hpp"
#include "ethernet/fields.hpp"
#include "ethernet/objects.hpp"
#include "firmware/selection.hpp"
#include "layouts/packet_transport.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace mrz::ethernet {
namespace {

using namespace firmware;
using layouts::get;
using layouts::part;
using layouts::set;
namespace tisc = layouts::tisc;

void create(const Command& command, const Context& context)
{
    const auto given = part(command.in, layouts::create_tis_in::ctx);
    refuse_missing(given, {{tisc::tls_en, "encryption"},
                           {tisc::strict_lag_tx_port_affinity, "ports that are bundled"},
                           {tisc::lag_tx_port_affinity, "ports that are bundled"},
                           {tisc::underlay_qpn, "packets over InfiniBand"}});
    auto domain = context.objects.use<TransportDomain>(number_of(given, tisc::transport_domain), command.uid);
    const std::uint32_t number = context.objects.vacant(Kind::tis);
    context.objects.add(
        std::make_shared<Tis>(number, command.uid, Given(given.begin(), given.end()), std::move(domain)));
    set(command.out, layouts::create_tis_out::tisn, number);
}

void modify(const Command& command, const Context& context)
{
    namespace in = layouts::modify_tis_in;
    namespace bits = layouts::modify_tis_bitmask;
    const auto tis = context.objects.find<Tis>(number_of(command.in, in::tisn), command.uid);
    const auto wanted = part(command.in, in::bitmask);
    refuse_missing(wanted, {{bits::lag_tx_port_affinity, "ports that are bundled"},
                            {bits::strict_lag_tx_port_affinity, "ports that are bundled"}});
    require_known(wanted, {bits::prio, bits::lag_tx_port_affinity, bits::strict_lag_tx_port_affinity}, "a TIS");
    if (layouts::is_set(wanted, bits::prio))
        set(tis->given, tisc::prio, get(part(command.in, in::ctx), tisc::prio));
}

} // namespace

void add_ways_to_send(Commands& commands, const Context& context)
{
    namespace l = layouts;
    context.objects.limit(Kind::tis, 1, 1U << context.settings.log_max_packet_queues);
    commands.add({0x912, "CREATE_TIS", l::create_tis_in::bytes, l::create_tis_out::bytes,
                  [context](const Command& command) { create(command, context); }});
    commands.add({0x913, "MODIFY_TIS", l::modify_tis_in::bytes, 16,
                  [context](const Command& command) { modify(command, context); }});
    commands.add({0x914, "DESTROY_TIS", l::destroy_tis_in::bytes, 16, [context](const Command& command) {
                      context.objects.destroy(Kind::tis, number_of(command.in, l::destroy_tis_in::tisn), command.uid);
                  }});
    commands.add(
        {0x915, "QUERY_TIS", l::query_tis_in::bytes, l::query_tis_out::bytes, [context](const Command& command) {
             const auto tis = context.objects.find<Tis>(number_of(command.in, l::query_tis_in::tisn), command.uid);
             std::ranges::copy(tis->given, part(command.out, l::query_tis_out::tis_context).begin());
         }});
}

} // namespace mrz::ethernet

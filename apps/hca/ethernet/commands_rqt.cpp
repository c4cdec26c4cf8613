// SPDX-License-Identifier: BSD-3-Clause
#include "ethernet/commands.hpp"
#include "ethernet/fields.hpp"
#include "ethernet/objects.hpp"
#include "firmware/selection.hpp"
#include "layouts/packet_transport.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mrz::ethernet {
namespace {

using namespace firmware;
using layouts::get;
using layouts::part;
using layouts::set;
namespace rqtc = layouts::rqtc;

// The queues that are listed behind a context, which begins \p at bytes into the command.
std::vector<Use<ReceiveQueue>> listed(const Command& command, std::size_t at, std::uint64_t most,
                                      const Objects& objects)
{
    const auto context = command.in.subspan(at);
    const std::uint64_t count = get(context, rqtc::rqt_actual_size);
    if (count == 0 || count > most)
        throw Refusal{Status::bad_param,
                      "the table has 1 to " + std::to_string(most) + " queues, not " + std::to_string(count)};
    const auto list = part(context, rqtc::rq_num);
    if (list.size() / layouts::rq_num::bytes < count)
        throw Refusal{Status::bad_inp_len, "there are fewer queues than " + std::to_string(count)};
    std::vector<Use<ReceiveQueue>> queues;
    for (std::size_t i = 0; i < count; ++i)
        queues.push_back(objects.use<ReceiveQueue>(
            number_of(list.subspan(i * layouts::rq_num::bytes), layouts::rq_num::rq_num), command.uid));
    return queues;
}

void create(const Command& command, const Context& context)
{
    static constexpr std::size_t at = layouts::create_rqt_in::rqt_context.offset;
    const std::uint64_t most = get(command.in.subspan(at), rqtc::rqt_max_size);
    if (most == 0 || most > 1U << context.settings.log_max_rqt_entries)
        throw Refusal{Status::bad_param, "a table is for 1 to " +
                                             std::to_string(1U << context.settings.log_max_rqt_entries) +
                                             " queues, not for " + std::to_string(most)};
    auto queues = listed(command, at, most, context.objects);
    const std::uint32_t number = context.objects.vacant(Kind::rqt);
    context.objects.add(
        std::make_shared<QueueTable>(number, command.uid, static_cast<std::uint32_t>(most), std::move(queues)));
    set(command.out, layouts::create_rqt_out::rqtn, number);
}

void modify(const Command& command, const Context& context)
{
    namespace in = layouts::modify_rqt_in;
    const auto table = context.objects.find<QueueTable>(number_of(command.in, in::rqtn), command.uid);
    const auto changes = part(command.in, in::bitmask);
    require_known(changes, {layouts::rqt_bitmask::rqn_list}, "a table of queues");
    if (layouts::is_set(changes, layouts::rqt_bitmask::rqn_list))
        table->queues = listed(command, in::ctx.offset, table->most, context.objects);
}

void query(const Command& command, const Context& context)
{
    namespace out = layouts::query_rqt_out;
    const auto table =
        context.objects.find<QueueTable>(number_of(command.in, layouts::query_rqt_in::rqtn), command.uid);
    const auto told = command.out.subspan(out::rqt_context.offset);
    const auto list = part(told, rqtc::rq_num);
    if (list.size() / layouts::rq_num::bytes < table->queues.size())
        throw Refusal{Status::bad_outp_len, "there is no room for the list"};
    set(told, rqtc::rqt_max_size, table->most);
    set(told, rqtc::rqt_actual_size, table->queues.size());
    for (std::size_t i = 0; i < table->queues.size(); ++i)
        set(list.subspan(i * layouts::rq_num::bytes), layouts::rq_num::rq_num, table->queues[i]->number());
}

} // namespace

void add_queue_tables(Commands& commands, const Context& context)
{
    namespace l = layouts;
    context.objects.limit(Kind::rqt, 1, 1U << context.settings.log_max_packet_queues);
    commands.add({0x916, "CREATE_RQT", l::create_rqt_in::bytes, l::create_rqt_out::bytes,
                  [context](const Command& command) { create(command, context); }});
    commands.add({0x917, "MODIFY_RQT", l::modify_rqt_in::bytes, 16,
                  [context](const Command& command) { modify(command, context); }});
    commands.add({0x918, "DESTROY_RQT", l::destroy_rqt_in::bytes, 16, [context](const Command& command) {
                      context.objects.destroy(Kind::rqt, number_of(command.in, l::destroy_rqt_in::rqtn), command.uid);
                  }});
    commands.add({0x919, "QUERY_RQT", l::query_rqt_in::bytes, l::query_rqt_out::bytes,
                  [context](const Command& command) { query(command, context); }});
}

} // namespace mrz::ethernet

// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/domains.hpp"

#include "layouts/domains.hpp"

#include <mrzone/base.hpp>

#include <memory>
#include <string>

namespace mrz::firmware {

namespace {

using layouts::get;
using layouts::set;

// mlx5_ifc.h, MLX5_UCTX_CAP_…
constexpr std::uint64_t known_uctx_capabilities = 0x3;

//! Handlers that make and destroy objects of type \p T, which is nothing but its number.
template <class T>
void add_numbered(Commands& commands, Objects& objects, std::uint16_t alloc_opcode, std::string_view alloc_name,
                  layouts::Field number_out, std::uint16_t dealloc_opcode, std::string_view dealloc_name,
                  layouts::Field number_in)
{
    commands.add({alloc_opcode, alloc_name, 16, 16, [&objects, number_out](const Command& command) {
                      const std::uint32_t number = objects.vacant(T::kind);
                      objects.add(std::make_shared<T>(number, command.uid));
                      set(command.out, number_out, number);
                  }});
    commands.add({dealloc_opcode, dealloc_name, 16, 16, [&objects, number_in](const Command& command) {
                      objects.destroy(T::kind, static_cast<std::uint32_t>(get(command.in, number_in)), command.uid);
                  }});
}

} // namespace

Domains::Domains(const Context& context) : context_{context}
{
    const Settings& settings = context_.settings;
    Objects& objects = context_.objects;
    objects.limit(Kind::pd, 0, context_.engine.options().max_pds);
    objects.limit(Kind::uar, settings.first_uar,
                  static_cast<std::uint32_t>(settings.bar_bytes / 4096) - settings.first_uar);
    objects.limit(Kind::transport_domain, 1, 1U << 16);
    objects.limit(Kind::xrcd, 1, 1U << 16);
    objects.limit(Kind::uctx, 1, (1U << settings.log_max_uctx) - 1);
}

void Domains::add_to(Commands& commands)
{
    namespace l = layouts;
    Objects& objects = context_.objects;
    commands.add({0x800, "ALLOC_PD", 16, 16, [this](const Command& command) { alloc_pd(command); }});
    commands.add({0x801, "DEALLOC_PD", 16, 16, [&objects](const Command& command) {
                      objects.destroy(Kind::pd, static_cast<std::uint32_t>(get(command.in, l::dealloc_pd_in::pd)),
                                      command.uid);
                  }});
    add_numbered<Uar>(commands, objects, 0x802, "ALLOC_UAR", l::alloc_uar_out::uar, 0x803, "DEALLOC_UAR",
                      l::dealloc_uar_in::uar);
    add_numbered<TransportDomain>(commands, objects, 0x816, "ALLOC_TRANSPORT_DOMAIN",
                                  l::alloc_transport_domain_out::transport_domain, 0x817, "DEALLOC_TRANSPORT_DOMAIN",
                                  l::dealloc_transport_domain_in::transport_domain);
    add_numbered<XrcDomain>(commands, objects, 0x80e, "ALLOC_XRCD", l::alloc_xrcd_out::xrcd, 0x80f, "DEALLOC_XRCD",
                            l::dealloc_xrcd_in::xrcd);
    commands.add({0xa04, "CREATE_UCTX", l::create_uctx_in::bytes, 16,
                  [this](const Command& command) { create_uctx(command); }});
    commands.add({0xa06, "DESTROY_UCTX", 16, 16, [this](const Command& command) { destroy_uctx(command); }});
}

void Domains::check_user(const Command& command) const
{
    if (command.uid != 0)
        (void)context_.objects.find<UserContext>(command.uid, 0);
}

void Domains::alloc_pd(const Command& command)
{
    context_.objects.require_room(Kind::pd);
    const hca::Pd pd = context_.engine.alloc_pd();
    try {
        context_.objects.add(std::make_shared<ProtectionDomain>(context_.engine, pd, command.uid));
    } catch (...) {
        context_.engine.dealloc_pd(pd);
        throw;
    }
    set(command.out, layouts::alloc_pd_out::pd, static_cast<std::uint32_t>(pd));
}

void Domains::create_uctx(const Command& command)
{
    if (command.uid != 0)
        throw Refusal{Status::bad_param, "only the kernel makes user contexts"};
    const auto uctx = part(command.in, layouts::create_uctx_in::uctx);
    if ((get(uctx, layouts::uctx::cap) & ~known_uctx_capabilities) != 0)
        throw Refusal{Status::bad_param, "a user context may not do " + format_hex(get(uctx, layouts::uctx::cap))};
    const std::uint32_t uid = context_.objects.vacant(Kind::uctx);
    context_.objects.add(std::make_shared<UserContext>(uid));
    set(command.out, layouts::create_uctx_out::uid, uid);
}

void Domains::destroy_uctx(const Command& command)
{
    const auto uid = static_cast<std::uint16_t>(get(command.in, layouts::destroy_uctx_in::uid));
    (void)context_.objects.find(Kind::uctx, uid, command.uid, Of::uid);
    // What a process that was killed could not destroy itself goes with its context.
    if (const std::size_t left = context_.objects.destroy_all_of(uid); left > 0)
        log(Severity::info, "uid " + std::to_string(uid) + " left " + std::to_string(left) + " objects behind");
    // Its number may not become another's, who could then name what is left.
    if (context_.objects.has_any_of(uid))
        throw Refusal{Status::bad_res_state, "others use what is uid " + std::to_string(uid) + "'s"};
    context_.objects.destroy(Kind::uctx, uid, command.uid);
}

} // namespace mrz::firmware

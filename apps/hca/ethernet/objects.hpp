// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What packets are sent from, received into and led by, as the firmware's objects.
#pragma once

#include "ethernet/work_queues.hpp"
#include "firmware/domains.hpp"
#include "firmware/objects.hpp"
#include "firmware/queue_counters.hpp"
#include "queues/objects.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace mrz::ethernet {

using firmware::Kind;
using firmware::Use;

//! A context as it was given, and changed since: what a query tells.
using Given = std::vector<std::byte>;

class Tis final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::tis;
    Tis(std::uint32_t number, std::uint16_t uid, Given context, Use<firmware::TransportDomain> domain)
        : Object{kind, number, uid}, given{std::move(context)}, domain_{std::move(domain)}
    {
    }

    Given given;

  private:
    const Use<firmware::TransportDomain> domain_;
};

class SendQueue final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::sq;
    struct Uses {
        Use<firmware::ProtectionDomain> pd;
        Use<queues::CompletionQueueObject> cq;
        Use<firmware::Uar> uar;
        Use<Tis> tis; //!< None: it sends no packets, only what concerns the driver itself.
        queues::Umems umems;
    };
    SendQueue(queues::DataPath& path, std::uint32_t number, std::uint16_t uid, Given context, Uses needs)
        : Object{kind, number, uid}, path_{path}, given_{std::move(context)}, needs_{std::move(needs)}
    {
    }

    [[nodiscard]] const Given& given() const noexcept { return given_; }
    void end() override { path_.destroy_packet_queue(number()); }

  private:
    queues::DataPath& path_;
    const Given given_;
    const Uses needs_;
};

class ReceiveQueue final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::rq;
    struct Uses {
        Use<firmware::ProtectionDomain> pd; //!< None: no packet may be written anywhere.
        Use<queues::CompletionQueueObject> cq;
        Use<firmware::QueueCounters> counters; //!< May be none.
        queues::Umems umems;
    };
    ReceiveQueue(std::uint32_t number, std::uint16_t uid, Given context, Uses needs)
        : Object{kind, number, uid}, given{std::move(context)}, needs_{std::move(needs)}
    {
    }
    void count_in(Use<firmware::QueueCounters> counters) { needs_.counters = std::move(counters); }

    State state = State::reset;
    Given given;

  private:
    Uses needs_;
};

class QueueTable final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::rqt;
    QueueTable(std::uint32_t number, std::uint16_t uid, std::uint32_t room, std::vector<Use<ReceiveQueue>> list)
        : Object{kind, number, uid}, most{room}, queues{std::move(list)}
    {
    }

    const std::uint32_t most; //!< Entries.
    std::vector<Use<ReceiveQueue>> queues;
};

class Tir final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::tir;
    using Target = std::variant<Use<ReceiveQueue>, Use<QueueTable>>;
    Tir(std::uint32_t number, std::uint16_t uid, Given context, Use<firmware::TransportDomain> domain, Target target)
        : Object{kind, number, uid}, given{std::move(context)}, domain_{std::move(domain)}, target_{std::move(target)}
    {
    }

    Given given;

  private:
    const Use<firmware::TransportDomain> domain_;
    const Target target_;
};

} // namespace mrz::ethernet

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Queues as the firmware's objects: whose they are, and what they use.
#pragma once

#include "firmware/domains.hpp"
#include "firmware/objects.hpp"
#include "firmware/umems.hpp"
#include "layouts/qpc.hpp"
#include "queues/data_path.hpp"
#include "queues/event_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mrz::queues {

using firmware::Kind;
using firmware::Uar;
using firmware::Use;

class EventQueueObject final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::eq;
    EventQueueObject(EventQueues& queues, std::shared_ptr<EventQueue> queue, std::uint16_t uid, Use<Uar> uar)
        : Object{kind, queue->number(), uid}, queues_{queues}, queue_{std::move(queue)}, uar_{std::move(uar)}
    {
    }

    [[nodiscard]] const EventQueue& queue() const noexcept { return *queue_; }
    [[nodiscard]] const std::shared_ptr<EventQueue>& shared() const noexcept { return queue_; }
    void end() override { queues_.remove(number()); }

  private:
    EventQueues& queues_;
    const std::shared_ptr<EventQueue> queue_;
    const Use<Uar> uar_;
};

using Umems = std::vector<Use<firmware::Umem>>;

class CompletionQueueObject final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::cq;
    CompletionQueueObject(DataPath& path, std::uint32_t number, std::uint16_t uid, Use<EventQueueObject> eq,
                          Use<Uar> uar, Umems umems)
        : Object{kind, number, uid}, path_{path}, eq_{std::move(eq)}, uar_{std::move(uar)}, umems_{std::move(umems)}
    {
    }

    //! It was moved to other memory.
    void set_umems(Umems umems) { umems_ = std::move(umems); }
    void end() override { path_.destroy_cq(number()); }

  private:
    DataPath& path_;
    const Use<EventQueueObject> eq_;
    const Use<Uar> uar_;
    Umems umems_;
};

class SharedReceiveObject final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::srq;
    enum class Sort : std::uint8_t { rmp, xrc };
    //! What a query tells of it besides what changes: the context as it was given.
    using Given = std::vector<std::byte>;

    SharedReceiveObject(DataPath& path, std::uint32_t number, std::uint16_t uid, Sort sort, Given given,
                        Use<firmware::ProtectionDomain> pd, Use<firmware::XrcDomain> xrcd,
                        Use<CompletionQueueObject> cq, Umems umems)
        : Object{kind, number, uid}, path_{path}, sort_{sort}, given_{std::move(given)}, pd_{std::move(pd)},
          xrcd_{std::move(xrcd)}, cq_{std::move(cq)}, umems_{std::move(umems)}
    {
    }

    [[nodiscard]] Sort sort() const noexcept { return sort_; }
    [[nodiscard]] const Given& given() const noexcept { return given_; }
    void end() override { path_.destroy_srq(number()); }

  private:
    DataPath& path_;
    const Sort sort_;
    const Given given_;
    const Use<firmware::ProtectionDomain> pd_;
    const Use<firmware::XrcDomain> xrcd_;
    const Use<CompletionQueueObject> cq_;
    const Umems umems_;
};

class QueuePairObject final : public firmware::Object {
  public:
    static constexpr Kind kind = Kind::qp;
    using Context = std::array<std::byte, layouts::qpc::bytes>;
    struct Uses {
        Use<firmware::ProtectionDomain> pd;
        Use<CompletionQueueObject> send_cq;
        Use<CompletionQueueObject> receive_cq;
        Use<SharedReceiveObject> srq;
        Use<Uar> uar;
        Umems umems;
    };

    QueuePairObject(DataPath& path, std::uint32_t number, std::uint16_t uid, QpKind sort, const Context& context,
                    Uses uses)
        : Object{kind, number, uid}, path_{path}, sort_{sort}, context_{context}, uses_{std::move(uses)}
    {
    }

    [[nodiscard]] QpKind sort() const noexcept { return sort_; }
    //! As it was created and modified since, but for what changes by itself.
    [[nodiscard]] Context& context() noexcept { return context_; }
    void end() override { path_.destroy_qp(number()); }

  private:
    DataPath& path_;
    const QpKind sort_;
    Context context_;
    const Uses uses_;
};

} // namespace mrz::queues

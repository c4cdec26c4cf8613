// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! What commands make and destroy: who owns each object, and who uses it.
#pragma once

#include "firmware/command.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mrz::firmware {

//! Kinds of objects; each counts its numbers for itself.
enum class Kind : std::uint8_t {
    pd,
    uar,
    transport_domain,
    xrcd,
    q_counter,
    mkey,
    umem,
    uctx,
    eq,
    cq,
    qp,
    srq, //!< Plain, XRC, and RMP: numbers of one space.
    // Of Ethernet packets:
    sq,
    rq,
    tis,
    tir,
    rqt,
    flow_table,
    flow_group,
};
inline constexpr std::size_t kinds = 19;
std::string_view to_string(Kind kind) noexcept;

//! Derived classes say what an object is. They have a constant `kind`, and hold a Use of each object that they need.
class Object {
  public:
    //! \p uid: the user context that it belongs to; 0 is the kernel.
    Object(Kind kind, std::uint32_t number, std::uint16_t uid) noexcept : kind_{kind}, uid_{uid}, number_{number} {}
    virtual ~Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    [[nodiscard]] Kind kind_of() const noexcept { return kind_; }
    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] std::uint16_t uid() const noexcept { return uid_; }
    [[nodiscard]] unsigned uses() const noexcept { return uses_; }

    //! Takes back what it stands for in the engine. It may refuse by throwing; then the object stays.
    virtual void end() {}

  private:
    template <class T>
    friend class Use;

    const Kind kind_;
    const std::uint16_t uid_;
    const std::uint32_t number_;
    unsigned uses_ = 0;
};

//! As long as it lives, the object is not destroyed by a command. Command thread only.
template <class T>
class Use {
  public:
    Use() = default;
    explicit Use(std::shared_ptr<T> object) : object_{std::move(object)}
    {
        if (object_ != nullptr)
            ++object_->uses_;
    }
    Use(Use&& other) noexcept : object_{std::move(other.object_)} {}
    Use& operator=(Use&& other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Use()
    {
        if (object_ != nullptr)
            --object_->uses_;
    }

    [[nodiscard]] T* get() const noexcept { return object_.get(); }
    T* operator->() const noexcept { return object_.get(); }
    T& operator*() const noexcept { return *object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    std::shared_ptr<T> object_;
};

//! Whose objects a command may name.
enum class Of : std::uint8_t {
    uid,           //!< Those of its own user context. The kernel (uid 0) may name all.
    uid_or_kernel, //!< The kernel's as well: event queues, XRC domains, counters, which it makes for its users.
};

//! All objects. Command thread only.
class Objects {
  public:
    ~Objects() { clear(); }

    //! Numbers of a kind: \p first to \p first + \p most - 1. Without this there is none.
    //! \p full is the status where as many exist as may.
    void limit(Kind kind, std::uint32_t first, std::uint32_t most, Status full = Status::no_res);
    //! Throws limit()'s status where as many exist as may.
    void require_room(Kind kind) const;
    //! A number that is free, not the one that was free last; throws as require_room().
    [[nodiscard]] std::uint32_t vacant(Kind kind);

    //! Adds an object under its number, which is free and may lie outside of the limits.
    void add(std::shared_ptr<Object> object);
    //! Throws bad_res if there is none, or it is another user's.
    template <class T>
    [[nodiscard]] std::shared_ptr<T> find(std::uint32_t number, std::uint16_t uid, Of whose = Of::uid) const
    {
        return std::static_pointer_cast<T>(find(T::kind, number, uid, whose));
    }
    [[nodiscard]] std::shared_ptr<Object> find(Kind kind, std::uint32_t number, std::uint16_t uid, Of whose) const;
    //! find(), as a Use.
    template <class T>
    [[nodiscard]] Use<T> use(std::uint32_t number, std::uint16_t uid, Of whose = Of::uid) const
    {
        return Use<T>{find<T>(number, uid, whose)};
    }

    //! Throws bad_res as find() does, and bad_res_state while others use it.
    void destroy(Kind kind, std::uint32_t number, std::uint16_t uid);
    //! Destroys what is \p uid's: what a user context leaves behind. Returns how many there were.
    std::size_t destroy_all_of(std::uint16_t uid);
    //! Whether anything is \p uid's.
    [[nodiscard]] bool has_any_of(std::uint16_t uid) const noexcept;
    //! Destroys all: the newest first, and again those that did not end while others used them.
    void clear() noexcept;

    [[nodiscard]] std::size_t count(Kind kind) const noexcept { return tables_[index(kind)].objects.size(); }
    [[nodiscard]] std::size_t count() const noexcept;
    //! For whoever shows them.
    template <class Function>
    void for_each(Kind kind, Function&& function) const
    {
        for (const auto& [number, entry] : tables_[index(kind)].objects)
            function(*entry.object);
    }

  private:
    struct Entry {
        std::shared_ptr<Object> object;
        std::uint64_t age;
    };
    struct Table {
        std::uint32_t first = 0;
        std::uint32_t most = 0;
        Status full = Status::no_res;
        std::uint32_t next = 0; // the number to be tried next, counted from first
        std::map<std::uint32_t, Entry> objects;
    };

    static std::size_t index(Kind kind) noexcept { return static_cast<std::size_t>(kind); }
    void remove(Kind kind, std::uint32_t number);
    //! Ends each object, the newest first, and removes those that did end; in the \p last_round all. Whether any did.
    bool end_each(bool last_round) noexcept;

    std::array<Table, kinds> tables_;
    std::map<std::uint64_t, std::pair<Kind, std::uint32_t>> by_age_;
    std::uint64_t next_age_ = 0;
};

} // namespace mrz::firmware

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Objects by their number.
#pragma once

#include "refuse.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace mrz::hca {

//! Gives 24-bit numbers, each as late as possible for a second time, so that a stale one finds nothing rather than
//! something else. Not thread-safe.
template <class Object>
class NumberTable {
  public:
    //! \p kind is what errors call an object: "queue pair". Numbers begin with \p first.
    NumberTable(std::string kind, std::uint32_t limit, std::uint32_t first)
        : kind_{std::move(kind)}, limit_{limit}, first_{first}, next_{first}
    {
    }

    //! Puts in what \p make(number) returns.
    template <class Make>
    std::shared_ptr<Object> add(const Make& make)
    {
        require_room();
        while (objects_.contains(next_))
            next_ = after(next_);
        std::shared_ptr<Object> object = make(next_);
        objects_.emplace(next_, object);
        next_ = after(next_);
        return object;
    }
    //! The same, under a number before those that are given. Throws Error, EBUSY, while another has it.
    template <class Make>
    std::shared_ptr<Object> add_as(std::uint32_t number, const Make& make)
    {
        require_room();
        if (objects_.contains(number))
            throw Error{EBUSY,
                        {Trouble::busy,
                         "create a " + kind_,
                         "there is one of number " + std::to_string(number),
                         {},
                         {},
                         "destroy that one first"}};
        std::shared_ptr<Object> object = make(number);
        objects_.emplace(number, object);
        return object;
    }
    [[nodiscard]] const std::shared_ptr<Object>* find(std::uint32_t number) const
    {
        const auto found = objects_.find(number);
        return found == objects_.end() ? nullptr : &found->second;
    }
    //! Throws Error, ENOENT, unless it is in here.
    void require(const Object* object, const char* what) const
    {
        const auto found = object == nullptr ? objects_.end() : objects_.find(object->number());
        if (found == objects_.end() || found->second.get() != object)
            refuse_unknown(std::string{what} + " a " + kind_, "it is not one of this adapter, or was destroyed");
    }
    void remove(std::uint32_t number) { objects_.erase(number); }

    [[nodiscard]] const std::unordered_map<std::uint32_t, std::shared_ptr<Object>>& all() const { return objects_; }

  private:
    static constexpr std::uint32_t last_number = (1U << 24) - 1;

    void require_room() const
    {
        if (objects_.size() >= limit_ || objects_.size() > last_number - first_)
            refuse_full("create a " + kind_, "the adapter's number of them", limit_, objects_.size() + 1);
    }
    [[nodiscard]] std::uint32_t after(std::uint32_t number) const
    {
        return number == last_number ? first_ : number + 1;
    }

    const std::string kind_;
    const std::uint32_t limit_;
    const std::uint32_t first_;
    std::uint32_t next_;
    std::unordered_map<std::uint32_t, std::shared_ptr<Object>> objects_;
};

} // namespace mrz::hca

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Lists of the living objects of this process, for those who show what there is.
#pragma once

#include <mrzone/base.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace mrz {

//! A living object of some kind.
struct Living {
    std::uint64_t number = 0; //!< From 0 on, in the order of making. Never another's in this process.
    std::string name;         //!< Of its device, or its own. Several may have the same.

    friend bool operator==(const Living&, const Living&) = default;
};

//! All living objects of one kind. A child of fork() has one of its own, which is empty at first. Thread-safe.
class MRZ_API Roll {
  public:
    struct Entry {
        std::uint64_t number = 0;
        std::string name;
        std::mutex mutex = {};  //!< Held by whoever looks at the object, and while it leaves.
        void* object = nullptr; //!< Null from the beginning of its end on.
    };

    //! The roll of this process at a place of its kind, made where there is none.
    static Roll& of_this_process(std::atomic<Roll*>& place);
    //! Whether this is the process that made it.
    [[nodiscard]] bool is_ours() const noexcept { return owner_ == ::getpid(); }

    std::shared_ptr<Entry> add(void* object, std::string name);
    void remove(const Entry& entry) noexcept;
    //! Null for a number that none, or none any more, has.
    [[nodiscard]] std::shared_ptr<Entry> find(std::uint64_t number) const;
    //! In the order of their numbers.
    [[nodiscard]] std::vector<Living> living() const;

  private:
    explicit Roll(const Roll* parents) noexcept : parents_{parents} {}

    const pid_t owner_ = ::getpid();
    [[maybe_unused]] const Roll* parents_; // stays reachable, so that no leak is seen
    mutable std::mutex mutex_;
    std::uint64_t next_ = 0;
    std::vector<std::shared_ptr<Entry>> entries_; // by number
};

//! Keeps an object on the roll of its kind for as long as this lives, or until end().
template <class T>
class Listed {
  public:
    //! From now on others may look at \p object. Throws std::bad_alloc.
    Listed(T& object, const std::string& name) : roll_{roll()}, entry_{roll_.add(&object, name)} {}
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
    ~Listed() { end(); }

    [[nodiscard]] std::uint64_t number() const noexcept { return entry_->number; }
    //! Afterwards nobody looks at the object, so it may be taken apart; waits for who does. Hold no lock that looking
    //! takes. Does nothing in a child of fork(), where the lock may be held for ever.
    void end() noexcept
    {
        if (!roll_.is_ours())
            return;
        {
            const std::scoped_lock guard{entry_->mutex};
            if (std::exchange(entry_->object, nullptr) == nullptr)
                return;
        }
        roll_.remove(*entry_);
    }

    [[nodiscard]] static std::vector<Living> living() { return roll().living(); }
    //! Calls look(T&) with the object of that number, which waits with its end for as long; \p look must not end it.
    //! \return false if there is none.
    template <class Look>
    static bool visit(std::uint64_t number, Look look)
    {
        const std::shared_ptr<Roll::Entry> entry = roll().find(number);
        if (!entry)
            return false;
        const std::scoped_lock guard{entry->mutex};
        if (entry->object == nullptr)
            return false;
        look(*static_cast<T*>(entry->object));
        return true;
    }

  private:
    static Roll& roll()
    {
        static constinit std::atomic<Roll*> place = nullptr;
        return Roll::of_this_process(place);
    }

    Roll& roll_;
    std::shared_ptr<Roll::Entry> entry_;
};

} // namespace mrz

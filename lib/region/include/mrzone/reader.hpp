// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Look-up: address and length to lkey, wait-free.
#pragma once

#include <mrzone/base.hpp>
#include <mrzone/lookup.h>
#include <mrzone/region.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace mrz {

//! One thread's handle for the look-ups of a domain. Which regions are found, and how, is said in mrzone/lookup.h.
//!
//! While registrations come and go, old tables are freed only when every reader has been quiescent since. So a thread
//! that looks up says so once a burst, and goes offline before it pauses. Writers never wait for readers.
//!
//! A reader lives in its domain, which cannot be closed before. It belongs to the process that made it: in a child of
//! fork() it finds nothing. It may be made and destroyed by another thread than the one that uses it, and handed
//! over; what was moved from may only be assigned or destroyed.
class MRZ_API Reader {
  public:
    //! The most readers of a domain at a time.
    static constexpr unsigned most = 1024;

    //! Throws Error: busy (EMFILE) if the domain has so many readers; invalid (EBADF) if it is closed; unsupported
    //! (ENOTSUP) in a child of fork().
    explicit Reader(const Domain& domain) : Reader{domain, MRZ_LOOKUP_LAYOUT} {}
    //! For callers that were compiled with another header. Throws Error, too: unsupported (ENOTSUP) for a layout
    //! that is not this library's.
    Reader(const Domain& domain, std::uint32_t layout);
    Reader(Reader&&) noexcept;
    Reader& operator=(Reader&&) noexcept;
    ~Reader();

    //! A key, or none. One word, which an optional key is not: compilers put that together in memory, which costs
    //! more than the look-up.
    class Found {
      public:
        constexpr explicit Found(std::uint64_t word) noexcept : word_{word} {}
        constexpr explicit operator bool() const noexcept { return word_ != 0; }
        //! The key, if there is one.
        constexpr LKey operator*() const noexcept { return LKey{static_cast<std::uint32_t>(word_)}; }

        friend constexpr bool operator==(Found found, LKey key) noexcept { return found && *found == key; }
        friend constexpr bool operator==(Found found, std::nullopt_t) noexcept { return !found; }

      private:
        std::uint64_t word_;
    };

    //! The key of a region that covers all \p length bytes (none count as one) at \p address and grants local write.
    [[nodiscard]] Found lookup(const void* address, std::size_t length) const noexcept
    {
        return Found{mrz_lookup_word_(view_, MRZ_LOOKUP_TO_WRITE_, address, length)};
    }
    //! As lookup(), for memory that the device shall only read: of any region.
    [[nodiscard]] Found lookup_to_read(const void* address, std::size_t length) const noexcept
    {
        return Found{mrz_lookup_word_(view_, MRZ_LOOKUP_TO_READ_, address, length)};
    }

    //! A key, and how many bytes from the address on it covers.
    struct Reach {
        LKey key;
        std::size_t length;
    };
    //! As lookup(), and how far that key is valid: \p length at least.
    [[nodiscard]] std::optional<Reach> reach(const void* address, std::size_t length) const noexcept
    {
        return as_reach(MRZ_LOOKUP_TO_WRITE_, address, length);
    }
    //! As lookup_to_read(), and how far that key is valid.
    [[nodiscard]] std::optional<Reach> reach_to_read(const void* address, std::size_t length) const noexcept
    {
        return as_reach(MRZ_LOOKUP_TO_READ_, address, length);
    }

    //! Says that no look-up of this reader is under way: once a burst.
    void quiescent() noexcept;
    //! Says that there will be none until online(). A reader is made online; doing either twice is doing it once.
    void offline() noexcept;
    void online() noexcept;

    //! For the C API.
    [[nodiscard]] const std::uint64_t* view() const noexcept { return view_; }

  private:
    [[nodiscard]] std::optional<Reach> as_reach(int use, const void* address, std::size_t length) const noexcept
    {
        std::uint64_t word = 0;
        const std::uint64_t reach = mrz_lookup_reach_(view_, use, address, length, &word);
        if (word == 0)
            return std::nullopt;
        return Reach{LKey{static_cast<std::uint32_t>(word)}, reach};
    }

    struct MRZ_HIDDEN State;
    const std::uint64_t* view_ = nullptr;
    std::unique_ptr<State> state_;
};

} // namespace mrz

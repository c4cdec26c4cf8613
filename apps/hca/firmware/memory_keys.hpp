// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory keys: commands that make, show and destroy them, and what UMR work requests change.
#pragma once

#include "firmware/context.hpp"
#include "firmware/key_context.hpp"
#include "firmware/umems.hpp"

#include <hca/mkey.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace mrz::firmware {

class MemoryKeys;

class MemoryKey final : public Object {
  public:
    static constexpr Kind kind = Kind::mkey;
    MemoryKey(MemoryKeys& keys, std::uint32_t index, std::uint16_t uid, Use<Umem> umem)
        : Object{kind, index, uid}, keys_{keys}, umem_{std::move(umem)}
    {
    }
    void end() override;

  private:
    MemoryKeys& keys_;
    const Use<Umem> umem_;
};

//! What a UMR work request changes of a key. It happens as a whole or not at all.
struct KeyChange {
    enum class Expect : std::uint8_t { either, free, not_free };

    std::uint32_t index = 0;                      //!< Of the key: without the variant byte.
    Expect expect = Expect::either;               //!< Else bad_res_state.
    std::optional<std::uint8_t> variant = {};     //!< That the key has to have; else bad_res.
    std::optional<hca::Pd> pd = {};               //!< That the key has to be of, and stays of: a queue pair's.
    bool over_keys_only = false;                  //!< The key has to be one over other keys: a process asks.
    std::uint64_t mask = 0;                       //!< MLX5_MKEY_MASK_…
    std::span<const std::byte> mkc = {};          //!< Where the mask is not 0: 64 bytes.
    std::uint64_t translation_offset = 0;         //!< Octwords, from the key's first translation.
    std::span<const std::byte> translations = {}; //!< Entries as CREATE_MKEY has them.
};

//! The adapter's own keys.
struct SpecialKeys {
    hca::Mkey reserved_lkey; //!< All memory, by its addresses: for the kernel's own queue pairs.
    hca::Mkey null;
};

//! Commands come from the command thread; change() and shown() from any.
class MemoryKeys {
  public:
    explicit MemoryKeys(const Context& context);
    void add_to(Commands& commands);
    //! Make, and free, the adapter's own keys.
    void begin();
    void end() noexcept;
    //! So many keys of drivers there may be from now on; those that there are stay. Command thread, or between
    //! commands.
    void limit(std::uint32_t most);

    [[nodiscard]] SpecialKeys special() const;
    //! Throws Refusal, or Error as the engine does.
    void change(const KeyChange& change);

    struct Shown {
        hca::Mkey key;
        std::uint16_t uid = 0;
        bool umem = false;
        KeyContext context;
    };
    //! All keys; with the first \p words of the translations of each.
    [[nodiscard]] std::vector<Shown> shown(std::size_t words) const;

  private:
    friend class MemoryKey;

    struct Known {
        hca::Mkey key;
        std::uint16_t uid = 0;
        bool umem = false; //!< Its translations are a umem's, and not to be changed.
        KeyContext context;
    };

    void create(const Command& command);
    void query(const Command& command) const;
    [[nodiscard]] Use<Umem> read_umem(const Command& command, KeyContext& context) const;
    void end_key(std::uint32_t index);
    //! Throws no_res where translations of all keys together would be too many.
    void require_words(std::uint64_t more) const;
    [[nodiscard]] hca::Mkey build(const KeyContext& context);
    //! The engine's key of a context that was changed.
    [[nodiscard]] hca::Mkey rebuilt(hca::Mkey key, const KeyContext& context, bool was_free);

    const Context context_;
    mutable std::mutex mutex_;
    hca::Pd own_pd_{}; //!< Free keys are of no user's.
    bool begun_ = false;
    SpecialKeys special_;
    std::unordered_map<std::uint32_t, Known> known_;
    std::uint64_t words_ = 0; //!< Of all of them: what requests may make a key grow to is bounded by this only.
};

} // namespace mrz::firmware

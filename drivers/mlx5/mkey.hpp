// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Memory keys that a process makes by commands.
#pragma once

#include "devx.hpp"

#include <mrzone/device.hpp>
#include <mrzone/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace mrz::mlx5 {

//! A command is an attribute of uverbs, of 65,535 bytes at most, and entries come in fours.
inline constexpr std::uint64_t most_indirect_entries = 4076;

//! What every key has.
struct MkeySpec {
    std::uint32_t pd = 0;
    Iova start = {};
    std::uint64_t length = 0; //!< Bytes.
    bool local_read = true;   //!< Whether the owner may use it at all.
    Access access = Access::local_read;
    bool relaxed_write = false;
    bool relaxed_read = false;
    std::uint8_t variant = 0; //!< The key's low byte: the creator's to choose.
};

//! An entry of an indirect key.
struct MkeyEntry {
    std::uint32_t length = 0; //!< Bytes; nothing in a KSM key.
    std::uint32_t mkey = 0;
    Iova iova = {}; //!< Where it leads to in that key's space.
};
//! As the adapter reads it: 16 bytes.
void write_entry(std::span<std::byte> into, const MkeyEntry& entry) noexcept;

//! The command for a key to pages of a umem, \p offset bytes into it.
[[nodiscard]] Command create_direct_mkey(const MkeySpec& spec, std::uint32_t umem_id, std::uint64_t offset);
//! The command for a key over others; \p entry_shift is of a KSM key.
[[nodiscard]] Command create_indirect_mkey(const MkeySpec& spec, std::span<const MkeyEntry> entries,
                                           std::optional<PageShift> entry_shift);
//! The command for a key that leads nowhere, and that requests will fill with up to \p entries entries.
[[nodiscard]] Command create_movable_mkey(const MkeySpec& spec, std::size_t entries);
//! Entries come in fours, and the others of the last four stay empty.
[[nodiscard]] constexpr std::size_t listed_entries(std::size_t entries) noexcept
{
    return (entries + 3) / 4 * 4;
}

//! What a device says of a key.
struct MkeyInfo {
    BuiltKey built = {};
    bool local_read = false;
    Access access = Access::local_read;
};
//! From the answer to QUERY_MKEY; nothing of a key whose page size the device does not tell.
[[nodiscard]] std::optional<MkeyInfo> parse_mkey(std::span<const std::byte> answer);

//! A key.
class Mkey {
  public:
    //! Throws Refusal. \p variant is the one in the command.
    Mkey(std::shared_ptr<verbs::Context> context, const Command& command, std::uint8_t variant);

    [[nodiscard]] std::uint32_t value() const noexcept { return value_; }
    //! Throws Refusal.
    [[nodiscard]] std::optional<MkeyInfo> query() const;
    //! When it returns no operation reaches memory by the key any more. Throws Refusal, and then it is still there.
    void destroy() { object_.destroy(); }

  private:
    Object object_;
    std::uint32_t value_;
};

} // namespace mrz::mlx5

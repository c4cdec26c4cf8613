// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The engine's keys to one piece of registered memory, as a plan has them.
#pragma once

#include <hca/hca.hpp>

#include <mrzone/device.hpp>

#include <utility>
#include <vector>

namespace mrz::soft {

//! A key of the engine, owned.
class OwnedKey {
  public:
    OwnedKey() = default;
    OwnedKey(hca::Hca& engine, hca::Mkey key) noexcept : engine_{&engine}, key_{key} {}
    OwnedKey(OwnedKey&& other) noexcept;
    OwnedKey& operator=(OwnedKey&& other) noexcept;
    ~OwnedKey();

    [[nodiscard]] hca::Mkey get() const noexcept { return key_; }
    void reissue() { key_ = engine_->reissue_mkey(key_); }
    void fill(hca::MkeySpec spec) { key_ = engine_->fill_mkey(key_, std::move(spec)); }
    void invalidate() { engine_->invalidate_mkey(key_); }
    //! Leaves the key alone: it is the parent's of this process.
    void abandon() noexcept { engine_ = nullptr; }

  private:
    hca::Hca* engine_ = nullptr;
    hca::Mkey key_;
};

//! An lkey and an rkey, and the direct keys under both if the plan has an indirect one.
class MemoryKeys {
  public:
    MemoryKeys() = default;
    //! Builds what \p plan says over \p layout, the frames as they are now. Throws Error: data (ESTALE) if it does
    //! not fit them; as Hca::create_mkey().
    MemoryKeys(hca::Hca& engine, hca::Pd pd, Access access, const Plan& plan, const Layout& layout);

    [[nodiscard]] LKey lkey() const noexcept { return LKey{local_.get().value}; }
    [[nodiscard]] RKey rkey() const noexcept { return RKey{remote_.get().value}; }
    [[nodiscard]] std::vector<BuiltKey> query(hca::Hca& engine) const;
    //! Gives the rkey another variant byte: the old one is worth nothing when it returns.
    RKey reissue();
    void abandon() noexcept;

  private:
    std::vector<OwnedKey> pieces_; // go after the keys over them
    OwnedKey remote_;
    OwnedKey local_;
};

} // namespace mrz::soft

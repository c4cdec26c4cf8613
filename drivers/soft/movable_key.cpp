// SPDX-License-Identifier: BSD-3-Clause
#include "movable_key.hpp"

#include "keys.hpp"

#include <cerrno>
#include <mutex>
#include <string>
#include <utility>

namespace mrz::soft {
namespace {

class SoftMovableKey final : public MovableRKey {
  public:
    SoftMovableKey(std::shared_ptr<Adapter> adapter, hca::Pd pd, Access access)
        : adapter_{std::move(adapter)}, pd_{pd}, rights_{hca::remote_rights(access)},
          key_{adapter_->engine(), adapter_->engine().create_free_mkey(pd)}
    {
    }
    SoftMovableKey(const SoftMovableKey&) = delete;
    SoftMovableKey& operator=(const SoftMovableKey&) = delete;
    ~SoftMovableKey() override
    {
        if (!adapter_->is_here()) // it is the parent's
            key_.abandon();
    }

    RKey lead_to(Iova iova, std::span<const KeyPart> parts) override
    {
        hca::MkeySpec spec;
        spec.mode = hca::KeyMode::klm;
        spec.pd = pd_;
        spec.rights = rights_;
        spec.start = iova;
        spec.entries.reserve(parts.size());
        for (const KeyPart& part : parts) {
            spec.entries.push_back({.key = hca::Mkey{part.lkey.value}, .iova = part.iova, .length = part.length});
            spec.length += part.length;
        }
        const std::scoped_lock guard{mutex_};
        clear();
        key_.reissue();
        key_.fill(std::move(spec));
        leads_ = true;
        return RKey{key_.get().value};
    }
    void lead_nowhere() noexcept override
    {
        const std::scoped_lock guard{mutex_};
        clear();
    }

  private:
    void clear()
    {
        if (std::exchange(leads_, false))
            key_.invalidate();
    }

    std::shared_ptr<Adapter> adapter_;
    hca::Pd pd_;
    hca::KeyRights rights_;
    std::mutex mutex_;
    OwnedKey key_;
    bool leads_ = false;
};

} // namespace

std::unique_ptr<MovableRKey> create_movable_key(std::shared_ptr<Adapter> adapter, hca::Pd pd, Access access,
                                                std::size_t entries)
{
    const std::uint64_t most = adapter->engine().options().keys.translations;
    if (entries > most)
        throw Error{E2BIG,
                    {.trouble = Trouble::unsupported,
                     .what = "making a movable key with the software adapter",
                     .limit = "the adapter's translation entries",
                     .present = most,
                     .need = entries,
                     .remedy = "ask for fewer"}};
    return std::make_unique<SoftMovableKey>(std::move(adapter), pd, access);
}

} // namespace mrz::soft

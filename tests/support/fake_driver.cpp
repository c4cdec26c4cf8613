// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver.hpp"

#include <array>
#include <cerrno>

namespace mrz {
namespace test {

Script& script()
{
    static Script present;
    return present;
}

namespace {

class FakeMemory final : public RegisteredMemory {
  public:
    explicit FakeMemory(const RegisterRequest& request)
    {
        for (const PlannedKey& key : request.plan->keys)
            built_.push_back({key.iova, key.length, key.page_shift, key.entries});
        ++script().registered;
        key_ = static_cast<std::uint32_t>(++script().keys);
        lkey_.value = script().lkey.value_or(2 * key_);
        rkey_.value = 2 * key_ + 1;
    }
    ~FakeMemory() override
    {
        if (script().on_deregister)
            script().on_deregister(lkey());
        --script().registered;
    }
    [[nodiscard]] LKey lkey() const noexcept override { return lkey_; }
    [[nodiscard]] RKey rkey() const noexcept override { return rkey_; }
    [[nodiscard]] std::optional<std::vector<BuiltKey>> query() const override
    {
        if (!script().can_query)
            return std::nullopt;
        std::vector<BuiltKey> built = built_;
        if (script().on_query)
            script().on_query(built);
        return built;
    }
    [[nodiscard]] std::size_t pinned_bytes() const noexcept override { return 4096; }
    [[nodiscard]] RegisterPhases phases() const noexcept override { return {}; }
    [[nodiscard]] std::optional<Ordering> ordering() const noexcept override { return script().ordering; }
    RKey reissue() override
    {
        if (!script().reissues)
            return RegisteredMemory::reissue();
        rkey_.value = static_cast<std::uint32_t>(2 * ++script().keys + 1);
        return rkey_;
    }

  private:
    std::vector<BuiltKey> built_;
    std::uint32_t key_ = 0;
    LKey lkey_ = {};
    RKey rkey_ = {};
};

class FakeMovableKey final : public MovableRKey {
  public:
    FakeMovableKey() { ++script().movable_keys; }
    ~FakeMovableKey() override { --script().movable_keys; }
    RKey lead_to(Iova iova, std::span<const KeyPart> parts) override
    {
        if (script().on_lead)
            script().on_lead(iova, parts);
        return RKey{static_cast<std::uint32_t>(2 * ++script().keys + 1)};
    }
    void lead_nowhere() noexcept override { ++script().led_nowhere; }
};

class FakeQueuePair final : public QueuePair {
  public:
    [[nodiscard]] Endpoint local() const override { return {}; }
    void connect(const Endpoint&) override {}
    void post_send(const SendRequest&) override {}
    void post_receive(const ReceiveRequest&) override {}
    std::size_t poll(std::span<Completion>) override { return 0; }
    void fail() override {}
};

class FakeDomain final : public ProtectionDomain {
  public:
    FakeDomain() { ++script().domains; }
    ~FakeDomain() override { --script().domains; }
    std::unique_ptr<RegisteredMemory> register_memory(const RegisterRequest& request) override
    {
        if (script().on_register)
            script().on_register(request);
        return std::make_unique<FakeMemory>(request);
    }
    std::unique_ptr<MovableRKey> create_movable_key(Access access, std::size_t entries) override
    {
        if (!script().movable)
            return ProtectionDomain::create_movable_key(access, entries);
        return std::make_unique<FakeMovableKey>();
    }
    std::unique_ptr<QueuePair> create_queue_pair(const QueuePairOptions&) override
    {
        return std::make_unique<FakeQueuePair>();
    }
};

class FakeDevice final : public Device {
  public:
    FakeDevice(std::string name, std::string_view driver) : name_{std::move(name)}, driver_{driver} {}
    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::string_view driver() const override { return driver_; }
    [[nodiscard]] std::optional<int> numa_node() const override { return 0; }
    [[nodiscard]] Limits limits() const override { return script().limits; }
    [[nodiscard]] DmaView dma_view() const noexcept override { return script().view; }
    [[nodiscard]] bool pins_again() const override { return false; }
    [[nodiscard]] std::unique_ptr<ProtectionDomain> allocate_domain() override
    {
        return std::make_unique<FakeDomain>();
    }
    [[nodiscard]] std::optional<CacheCounters> cache_counters() const override { return std::nullopt; }

  private:
    std::string name_;
    std::string_view driver_;
};

std::shared_ptr<Device> open_hardware(std::string_view device)
{
    if (!script().hardware_opens)
        throw Error{EACCES, {.what = "opening it", .limit = "no permission", .remedy = {}}};
    return std::make_shared<FakeDevice>(std::string{device}, "hardware");
}

} // namespace
} // namespace test

std::span<const Driver> drivers()
{
    static const std::array<Driver, 2> table{
        Driver{.name = "hardware", .list = [] { return test::script().hardware; }, .open = test::open_hardware},
        Driver{.name = "soft",
               .list = [] { return std::vector<std::string>{"soft"}; },
               .open = [](std::string_view name) -> std::shared_ptr<Device> {
                   return std::make_shared<test::FakeDevice>(std::string{name}, "soft");
               }},
    };
    return table;
}

} // namespace mrz

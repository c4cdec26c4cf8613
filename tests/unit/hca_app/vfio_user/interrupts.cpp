// SPDX-License-Identifier: BSD-3-Clause
#include "unit/hca_app/vfio_user/served_device.hpp"

#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using namespace vfio_user;

constexpr std::uint32_t none = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
constexpr std::uint32_t by_bool = VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER;
constexpr std::uint32_t by_event = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
constexpr std::uint32_t msix = VFIO_PCI_MSIX_IRQ_INDEX;

//! What a virtual machine waits for.
class Event {
  public:
    [[nodiscard]] int fd() const { return event_.get(); }
    //! How often it was raised since the last time.
    [[nodiscard]] std::uint64_t count() const
    {
        std::uint64_t count = 0;
        return ::read(fd(), &count, sizeof count) == sizeof count ? count : 0;
    }

  private:
    FileDescriptor event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

class VfioUserInterrupts : public ServedDevice {
  protected:
    VfioUserInterrupts() { (void)client.agree(); }
    int set(std::uint32_t flags, std::uint32_t index, std::uint32_t start, std::uint32_t count,
            std::vector<int> files = {})
    {
        return client.call(Command::device_set_irqs, bytes_of(IrqSet{20, flags, index, start, count}), files).error();
    }

    std::array<Event, 3> events;
    Client client{server.path()};
};

TEST_F(VfioUserInterrupts, ReachWhoListens)
{
    ASSERT_EQ(set(by_event, msix, 4, 2, {events[0].fd(), events[1].fd()}), 0);
    vectors.raise(4);
    vectors.raise(4);
    vectors.raise(5);
    vectors.raise(6);
    vectors.raise(1000);
    EXPECT_EQ(events[0].count(), 2u);
    EXPECT_EQ(events[1].count(), 1u);
}

TEST_F(VfioUserInterrupts, MoveAndEnd)
{
    ASSERT_EQ(set(by_event, msix, 0, 2, {events[0].fd(), events[1].fd()}), 0);
    ASSERT_EQ(set(by_event, msix, 0, 1, {events[2].fd()}), 0);
    vectors.raise(0);
    EXPECT_EQ(events[0].count(), 0u);
    EXPECT_EQ(events[2].count(), 1u);
    ASSERT_EQ(set(by_event, msix, 0, 1), 0); // without descriptors: nobody listens
    vectors.raise(0);
    EXPECT_EQ(events[2].count(), 0u);
    ASSERT_EQ(set(none, msix, 0, 0), 0); // all
    vectors.raise(1);
    EXPECT_EQ(events[1].count(), 0u);
}

TEST_F(VfioUserInterrupts, AreRaisedByTheClient)
{
    ASSERT_EQ(set(by_event, msix, 0, 3, {events[0].fd(), events[1].fd(), events[2].fd()}), 0);
    EXPECT_EQ(set(none, msix, 1, 1), 0);
    EXPECT_EQ(client
                  .call(Command::device_set_irqs,
                        bytes_of(IrqSet{23, by_bool, msix, 0, 3}, std::array<std::uint8_t, 3>{1, 0, 1}))
                  .error(),
              0);
    for (const Event& event : events)
        EXPECT_EQ(event.count(), 1u);
}

TEST_F(VfioUserInterrupts, EndWithTheClient)
{
    ASSERT_EQ(set(by_event, msix, 0, 1, {events[0].fd()}), 0);
    {
        const Client gone = std::move(client);
    }
    wait_for_next_client();
    vectors.raise(0);
    EXPECT_EQ(events[0].count(), 0u);
}

TEST_F(VfioUserInterrupts, AreNotSetWrongly)
{
    const int fd = events[0].fd();
    EXPECT_EQ(set(by_event, msix, 15, 2, {fd, fd}), EINVAL);
    EXPECT_EQ(set(by_event, msix, 17, 0), EINVAL);
    EXPECT_EQ(set(by_event, msix, 1, ~0U, {fd}), EINVAL);
    EXPECT_EQ(set(by_event, msix, ~0U, 2, {fd, fd}), EINVAL);
    EXPECT_EQ(set(by_event, msix, 0, 2, {fd}), EINVAL);
    EXPECT_EQ(set(by_event, 5, 0, 1, {fd}), EINVAL);
    EXPECT_EQ(set(by_event, VFIO_PCI_INTX_IRQ_INDEX, 0, 1, {fd}), EINVAL);
    EXPECT_EQ(set(none, VFIO_PCI_INTX_IRQ_INDEX, 0, 0), 0); // QEMU does that
    EXPECT_EQ(set(none, msix, 0, 1, {fd}), EINVAL);
    EXPECT_EQ(set(VFIO_IRQ_SET_ACTION_TRIGGER, msix, 0, 1), EINVAL);
    EXPECT_EQ(set(by_event | by_bool, msix, 0, 1, {fd}), EINVAL);
    EXPECT_EQ(set(none | 1U << 6, msix, 0, 0), EINVAL);
    EXPECT_EQ(set(VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_MASK, msix, 0, 1), ENOTSUP);
    EXPECT_EQ(set(by_bool, msix, 0, 3), EINVAL);
    vectors.raise(0);
    EXPECT_EQ(events[0].count(), 0u);
}

TEST_F(VfioUserInterrupts, AreEventsOnly)
{
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const FileDescriptor reader{ends[0]};
    const FileDescriptor writer{ends[1]};
    EXPECT_EQ(set(by_event, msix, 0, 1, {writer.get()}), EINVAL);
    // One that is full does not hold up whoever raises it.
    const FileDescriptor full{::eventfd(0, EFD_CLOEXEC)};
    const std::uint64_t most = ~std::uint64_t{1};
    ASSERT_EQ(::write(full.get(), &most, sizeof most), 8);
    ASSERT_EQ(set(by_event, msix, 0, 1, {full.get()}), 0);
    vectors.raise(0);
}

} // namespace
} // namespace mrz::test

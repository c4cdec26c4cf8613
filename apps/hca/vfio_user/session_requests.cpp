// SPDX-License-Identifier: BSD-3-Clause
// What a client asks for once it has said its version: memory, the device's shape, interrupts, accesses.
#include "vfio_user/payload.hpp"
#include "vfio_user/session.hpp"

#include <algorithm>
#include <cerrno>

#include <linux/pci_regs.h>
#include <linux/vfio.h>

namespace mrz::vfio_user {
namespace {

//! Of a kind of data, or of action, bits of IrqSet::flags.
constexpr std::uint32_t data_kinds = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_DATA_EVENTFD;
constexpr std::uint32_t actions = VFIO_IRQ_SET_ACTION_MASK | VFIO_IRQ_SET_ACTION_UNMASK | VFIO_IRQ_SET_ACTION_TRIGGER;

//! Whether the write lets the device read and write memory by itself.
bool enables_bus_mastering(std::uint64_t offset, std::span<const std::byte> bytes)
{
    return offset <= PCI_COMMAND && PCI_COMMAND < offset + bytes.size() &&
           (bytes[PCI_COMMAND - offset] & std::byte{PCI_COMMAND_MASTER}) != std::byte{0};
}

} // namespace

void Session::dma_map(Message& message)
{
    const auto wanted = take_with_argsz<DmaMap>(message.payload);
    constexpr std::uint32_t rights = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    if ((wanted.flags & ~rights) != 0)
        throw Refused{EINVAL, "flags that are not known"};
    if (message.files.size() > 1)
        throw Refused{EINVAL, "more than one descriptor"};
    const dma::Range range{.at = DmaAddress{wanted.address},
                           .bytes = wanted.size,
                           .readable = (wanted.flags & VFIO_DMA_MAP_FLAG_READ) != 0,
                           .writable = (wanted.flags & VFIO_DMA_MAP_FLAG_WRITE) != 0};
    served_.exclusively([&] {
        // Without a file: firmware's ROMs, or memory that is not shared; check_memory_is_shared() tells them apart.
        if (message.files.empty())
            served_.memory.map_nothing(range);
        else
            served_.memory.map(range, message.files.front().get(), wanted.offset);
    });
}

void Session::dma_unmap(Payload payload)
{
    const auto wanted = take_with_argsz<DmaUnmap>(payload);
    // The text of the protocol has no flag; QEMU's vfio_user_dma_unmap() sends this one.
    if ((wanted.flags & ~std::uint32_t{VFIO_DMA_UNMAP_FLAG_ALL}) != 0)
        throw Refused{EINVAL, "flags that are not known"};
    const bool all = wanted.flags != 0;
    if (all && (wanted.address != 0 || wanted.size != 0))
        throw Refused{EINVAL, "all, and a range"};
    served_.exclusively([&] {
        if (all)
            served_.memory.unmap_all();
        else
            served_.memory.unmap(DmaAddress{wanted.address}, wanted.size);
    });
    put(wanted);
}

void Session::check_memory_is_shared() const
{
    const dma::MemoryCounts counts = served_.memory.counts();
    if (counts.ranges != 0 && counts.without_memory == counts.ranges)
        throw Error{EPROTO,
                    {.trouble = Trouble::peer,
                     .what = "using the guest's memory",
                     .limit = "the virtual machine does not share it",
                     .remedy = "give QEMU -object memory-backend-memfd,id=m,size=SIZE,share=on "
                               "-machine q35,memory-backend=m"}};
}

void Session::device_get_info(Payload payload)
{
    (void)take_with_argsz<DeviceInfo>(payload);
    // All memory that a virtual machine begins with is mapped by now, so it can be told before it starts.
    check_memory_is_shared();
    put(DeviceInfo{.argsz = sizeof(DeviceInfo),
                   .flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
                   .regions = VFIO_PCI_NUM_REGIONS,
                   .irqs = VFIO_PCI_NUM_IRQS});
}

void Session::region_info(Payload payload)
{
    const auto wanted = take_with_argsz<RegionInfo>(payload);
    if (wanted.index >= VFIO_PCI_NUM_REGIONS)
        throw Refused{EINVAL, "there is no such region"};
    RegionInfo info{.argsz = sizeof(RegionInfo), .index = wanted.index};
    if (wanted.index == VFIO_PCI_BAR0_REGION_INDEX)
        info.size = served_.bar_bytes;
    else if (wanted.index == VFIO_PCI_CONFIG_REGION_INDEX)
        info.size = served_.config_bytes;
    if (info.size != 0)
        info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    put(info);
}

void Session::irq_info(Payload payload)
{
    const auto wanted = take_with_argsz<IrqInfo>(payload);
    if (wanted.index >= VFIO_PCI_NUM_IRQS)
        throw Refused{EINVAL, "there is no such interrupt"};
    IrqInfo info{.argsz = sizeof(IrqInfo), .index = wanted.index};
    if (wanted.index == VFIO_PCI_MSIX_IRQ_INDEX) {
        info.flags = VFIO_IRQ_INFO_EVENTFD;
        info.count = served_.vectors.count();
    }
    put(info);
}

void Session::set_irqs(Message& message)
{
    const auto set = take<IrqSet>(message.payload);
    const Payload data = message.payload.subspan(sizeof set);
    const std::uint32_t kind = set.flags & data_kinds;
    if (set.argsz != message.payload.size())
        throw Refused{EINVAL, "of another length than it says"};
    if ((set.flags & ~(data_kinds | actions)) != 0 || (kind & (kind - 1)) != 0 || kind == 0)
        throw Refused{EINVAL, "flags that are not known, or none"};
    if (set.index >= VFIO_PCI_NUM_IRQS)
        throw Refused{EINVAL, "there is no such interrupt"};
    const std::uint32_t count = set.index == VFIO_PCI_MSIX_IRQ_INDEX ? served_.vectors.count() : 0;
    if (set.start > count || set.count > count - set.start)
        throw Refused{EINVAL, "there are not as many interrupts"};
    if ((set.flags & actions) != VFIO_IRQ_SET_ACTION_TRIGGER)
        throw Refused{ENOTSUP, "it is not supported: none can be masked"};
    if (data.size() != (kind == VFIO_IRQ_SET_DATA_BOOL ? set.count : 0))
        throw Refused{EINVAL, "of another length"};
    if (kind != VFIO_IRQ_SET_DATA_EVENTFD && !message.files.empty())
        throw Refused{EINVAL, "descriptors that are not for it"};

    if (kind == VFIO_IRQ_SET_DATA_EVENTFD) {
        if (message.files.empty())
            return served_.vectors.ignore(set.start, set.count);
        if (message.files.size() != set.count)
            throw Refused{EINVAL, "another number of descriptors"};
        return served_.vectors.listen(set.start, message.files);
    }
    if (kind == VFIO_IRQ_SET_DATA_NONE && set.count == 0) {
        // Only MSI-X has any to end.
        if (count != 0)
            served_.vectors.ignore_all();
        return;
    }
    for (std::uint32_t i = 0; i < set.count; ++i) {
        if (kind == VFIO_IRQ_SET_DATA_NONE || data[i] != std::byte{0})
            served_.vectors.raise(set.start + i);
    }
}

void Session::region_read(Payload payload)
{
    const auto access = take_all<RegionAccess>(payload);
    const std::uint64_t size = access.region == VFIO_PCI_BAR0_REGION_INDEX     ? served_.bar_bytes
                               : access.region == VFIO_PCI_CONFIG_REGION_INDEX ? served_.config_bytes
                                                                               : 0;
    if (access.count == 0 || access.count > most_data || access.offset > size || access.count > size - access.offset)
        throw Refused{EINVAL, "it is not inside of a region"};
    put(access);
    reply_.resize(sizeof access + access.count);
    const std::span<std::byte> bytes = std::span{reply_}.subspan(sizeof access);
    if (access.region == VFIO_PCI_BAR0_REGION_INDEX)
        served_.device.read_bar(access.offset, bytes);
    else
        served_.device.read_config(access.offset, bytes);
}

void Session::write(std::uint32_t region, std::uint64_t offset, Payload bytes)
{
    const std::uint64_t size = region == VFIO_PCI_BAR0_REGION_INDEX     ? served_.bar_bytes
                               : region == VFIO_PCI_CONFIG_REGION_INDEX ? served_.config_bytes
                                                                        : 0;
    if (bytes.empty() || offset > size || bytes.size() > size - offset)
        throw Refused{EINVAL, "it is not inside of a region"};
    if (region == VFIO_PCI_BAR0_REGION_INDEX)
        return served_.device.write_bar(offset, bytes);
    if (enables_bus_mastering(offset, bytes))
        check_memory_is_shared();
    served_.device.write_config(offset, bytes);
}

void Session::region_write(Payload payload)
{
    const auto access = take<RegionAccess>(payload);
    const Payload bytes = payload.subspan(sizeof access);
    if (bytes.size() != access.count)
        throw Refused{EINVAL, "of another length than it says"};
    write(access.region, access.offset, bytes);
    put(access);
}

void Session::region_write_multi(Payload payload)
{
    if (!writes_many_)
        throw Refused{ENOTSUP, "it was not agreed on"};
    const auto many = take<WriteMulti>(payload);
    constexpr std::size_t most_each = 8;
    constexpr std::size_t each = sizeof(RegionAccess) + most_each;
    payload = payload.subspan(sizeof many);
    if (payload.size() % each != 0 || many.count != payload.size() / each)
        throw Refused{EINVAL, "of another length than it says"};
    for (; !payload.empty(); payload = payload.subspan(each)) {
        const auto access = take<RegionAccess>(payload);
        if (access.count > most_each)
            throw Refused{EINVAL, "a write of more than 8 bytes"};
        write(access.region, access.offset, payload.subspan(sizeof access, access.count));
    }
    put(many);
}

} // namespace mrz::vfio_user

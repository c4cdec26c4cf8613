// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_user/session.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>

#include <linux/pci_regs.h>
#include <linux/vfio.h>

namespace mrz::vfio_user {
namespace {

using Json = nlohmann::json;

//! What is not done, and an errno that says so. The client may go on.
struct Refused {
    int error;
    const char* why;
};

//! A client that does nothing right does not fill a disk.
constexpr unsigned most_said = 20;

//! Of a kind of data, or of action, bits of IrqSet::flags.
constexpr std::uint32_t data_kinds = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_DATA_EVENTFD;
constexpr std::uint32_t actions = VFIO_IRQ_SET_ACTION_MASK | VFIO_IRQ_SET_ACTION_UNMASK | VFIO_IRQ_SET_ACTION_TRIGGER;

//! The structure that a payload begins with.
template <class T>
T take(std::span<const std::byte> payload)
{
    T value;
    if (payload.size() < sizeof value)
        throw Refused{EINVAL, "too short"};
    std::memcpy(&value, payload.data(), sizeof value);
    return value;
}

//! The structure that a payload is.
template <class T>
T take_all(std::span<const std::byte> payload)
{
    if (payload.size() != sizeof(T))
        throw Refused{EINVAL, "of another length"};
    return take<T>(payload);
}

template <class T>
T take_with_argsz(std::span<const std::byte> payload)
{
    const T value = take_all<T>(payload);
    if (value.argsz < sizeof value)
        throw Refused{EINVAL, "its argsz has no room for the answer"};
    return value;
}

const char* name_of(Command command)
{
    switch (command) {
    case Command::version:
        return "VERSION";
    case Command::dma_map:
        return "DMA_MAP";
    case Command::dma_unmap:
        return "DMA_UNMAP";
    case Command::device_get_info:
        return "DEVICE_GET_INFO";
    case Command::device_get_region_info:
        return "DEVICE_GET_REGION_INFO";
    case Command::device_get_region_io_fds:
        return "DEVICE_GET_REGION_IO_FDS";
    case Command::device_get_irq_info:
        return "DEVICE_GET_IRQ_INFO";
    case Command::device_set_irqs:
        return "DEVICE_SET_IRQS";
    case Command::region_read:
        return "REGION_READ";
    case Command::region_write:
        return "REGION_WRITE";
    case Command::device_reset:
        return "DEVICE_RESET";
    case Command::region_write_multi:
        return "REGION_WRITE_MULTI";
    }
    return "a command";
}

//! Whether the write lets the device read and write memory by itself.
bool enables_bus_mastering(std::uint64_t offset, std::span<const std::byte> bytes)
{
    return offset <= PCI_COMMAND && PCI_COMMAND < offset + bytes.size() &&
           (bytes[PCI_COMMAND - offset] & std::byte{PCI_COMMAND_MASTER}) != std::byte{0};
}

//! Whether the client's JSON says that it may write several at once. Throws Refused if it is none.
bool offers_write_multiple(std::span<const std::byte> text)
{
    if (text.empty())
        return false;
    if (text.back() != std::byte{0})
        throw Refused{EINVAL, "its capabilities do not end with NUL"};
    const std::string_view words{reinterpret_cast<const char*>(text.data()), text.size() - 1};
    const Json said = Json::parse(words, nullptr, false);
    if (!said.is_object())
        throw Refused{EINVAL, "its capabilities are no JSON object"};
    const auto capabilities = said.find("capabilities");
    if (capabilities == said.end())
        return false;
    if (!capabilities->is_object())
        throw Refused{EINVAL, "its capabilities are no JSON object"};
    const auto found = capabilities->find("write_multiple");
    return found != capabilities->end() && found->is_boolean() && found->get<bool>();
}

} // namespace

template <class T>
void Session::put(const T& answer)
{
    const auto bytes = std::as_bytes(std::span{&answer, 1});
    reply_.insert(reply_.end(), bytes.begin(), bytes.end());
}

void Session::run()
{
    while (std::optional<Message> message = connection_.receive())
        answer(*message);
}

void Session::answer(Message& message)
{
    int error = 0;
    std::string why;
    reply_.clear();
    try {
        dispatch(message);
        message.files.clear(); // what nobody took is closed when the client hears of it
        connection_.reply(message.header, reply_);
        return;
    } catch (const Refused& refused) {
        error = refused.error;
        why = refused.why;
    } catch (const std::bad_alloc&) {
        error = ENOMEM;
        why = "there is no memory";
    } catch (const Error& refused) {
        error = refused.error_number();
        why = refused.what();
        if (error == EPROTO) { // of those that end the client
            connection_.reply_error(message.header, EINVAL);
            throw;
        }
    }
    message.files.clear();
    connection_.reply_error(message.header, error);
    if (refusals_ < most_said)
        log(Severity::warning, std::string{"refused a client's "} + name_of(message.header.command) + " (" +
                                   std::to_string(static_cast<unsigned>(message.header.command)) + "): " + why +
                                   (++refusals_ == most_said ? "; more of this client are not said" : ""));
}

void Session::dispatch(Message& message)
{
    const Command command = message.header.command;
    if (agreed_ == (command == Command::version))
        throw Error{EPROTO,
                    {.trouble = Trouble::peer,
                     .what = "talking with a client",
                     .limit = agreed_ ? "it gives a version again" : "it does not begin with its version",
                     .remedy = "use a client that speaks vfio-user, such as QEMU's vfio-user-pci"}};
    if (message.files.size() > most_files)
        throw Refused{EINVAL, "more descriptors than a message may have"};
    if (!message.files.empty() && command != Command::dma_map && command != Command::device_set_irqs)
        throw Refused{EINVAL, "descriptors that are not for it"};
    switch (command) {
    case Command::version:
        return version(message.payload);
    case Command::dma_map:
        return dma_map(message);
    case Command::dma_unmap:
        return dma_unmap(message.payload);
    case Command::device_get_info:
        return device_get_info(message.payload);
    case Command::device_get_region_info:
        return region_info(message.payload);
    case Command::device_get_irq_info:
        return irq_info(message.payload);
    case Command::device_set_irqs:
        return set_irqs(message);
    case Command::region_read:
        return region_read(message.payload);
    case Command::region_write:
        return region_write(message.payload);
    case Command::region_write_multi:
        return region_write_multi(message.payload);
    case Command::device_reset:
        if (!message.payload.empty())
            throw Refused{EINVAL, "of another length"};
        return served_.device.reset();
    case Command::device_get_region_io_fds:
        break;
    }
    throw Refused{ENOTSUP, "it is not supported"};
}

void Session::version(Payload payload)
{
    const auto offered = take<Version>(payload);
    if (offered.major != 0)
        throw Error{EPROTO,
                    {.trouble = Trouble::peer,
                     .what = "talking with a client",
                     .limit = "it speaks vfio-user " + std::to_string(offered.major) + ", and here is 0",
                     .remedy = "use QEMU's vfio-user-pci"}};
    writes_many_ = offers_write_multiple(payload.subspan(sizeof offered));
    agreed_ = true;

    Json capabilities{{"max_msg_fds", most_files},
                      {"max_data_xfer_size", most_data},
                      {"max_dma_maps", dma::Memory::most_ranges},
                      {"pgsizes", dma::Memory::page}};
    if (writes_many_)
        capabilities["write_multiple"] = true;
    put(Version{.major = 0, .minor = 0});
    const std::string text = Json{{"capabilities", capabilities}}.dump();
    const auto bytes = std::as_bytes(std::span{text.c_str(), text.size() + 1});
    reply_.insert(reply_.end(), bytes.begin(), bytes.end());
}

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

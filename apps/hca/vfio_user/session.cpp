// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_user/session.hpp"

#include "vfio_user/payload.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <new>
#include <string>
#include <string_view>

namespace mrz::vfio_user {
namespace {

using Json = nlohmann::json;

//! A client that does nothing right does not fill a disk.
constexpr unsigned most_said = 20;

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

} // namespace mrz::vfio_user

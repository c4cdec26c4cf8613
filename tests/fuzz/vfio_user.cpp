// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A client of vfio-user that says anything: the device is never reached outside of its regions, memory never outside
//! of what was mapped, and nothing is left behind.
#include "input.hpp"

#include "vfio_user/session.hpp"

#include <array>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace mrz;
using namespace mrz::vfio_user;
using mrz::fuzz::Input;

namespace {

constexpr std::uint64_t bar_bytes = 1 << 14;
constexpr std::uint64_t config_bytes = 4096;
constexpr std::uint64_t file_bytes = 1 << 20;

//! Uses memory of the guest where a client writes, as a doorbell makes a device do.
class UsingDevice final : public vfio_user::Device {
  public:
    explicit UsingDevice(dma::Memory& memory) : memory_{memory} {}

    void read_config(std::uint64_t offset, std::span<std::byte> bytes) override
    {
        inside(offset, bytes, config_bytes);
    }
    void write_config(std::uint64_t offset, std::span<const std::byte> bytes) override
    {
        inside(offset, bytes, config_bytes);
    }
    void read_bar(std::uint64_t offset, std::span<std::byte> bytes) override { inside(offset, bytes, bar_bytes); }
    void write_bar(std::uint64_t offset, std::span<const std::byte> bytes) override
    {
        inside(offset, bytes, bar_bytes);
        std::array<std::byte, 5000> some{};
        const DmaAddress at{offset << 8 | std::to_integer<std::uint64_t>(bytes[0])};
        if (dma::read(memory_, at, some))
            (void)dma::write(memory_, at, some);
    }
    void reset() override {}

  private:
    static void inside(std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t size)
    {
        fuzz::require(!bytes.empty() && offset < size && bytes.size() <= size - offset);
    }

    dma::Memory& memory_;
};

std::array<int, 2> shared_files()
{
    const int memory = ::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (memory < 0 || event < 0 || ::ftruncate(memory, file_bytes) != 0 ||
        ::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        throw std::runtime_error{"files to share"};
    return {memory, event};
}

class Client {
  public:
    Client(int socket, Input input) : socket_{socket}, input_{input} {}

    void talk()
    {
        if (input_.byte() % 8 != 0)
            message(Command::version, std::vector<std::byte>(4));
        while (!input_.empty() && connected_)
            say();
    }

  private:
    std::vector<std::byte> bytes(std::size_t count)
    {
        std::vector<std::byte> some(count);
        for (std::byte& byte : some)
            byte = std::byte{input_.byte()};
        return some;
    }
    template <class T>
    void add(std::vector<std::byte>& payload, const T& part)
    {
        const auto its = std::as_bytes(std::span{&part, 1});
        payload.insert(payload.end(), its.begin(), its.end());
    }
    std::uint64_t pages(unsigned bytes) { return input_.number(bytes) << 12; }

    void say()
    {
        std::vector<std::byte> payload;
        switch (input_.byte() % 8) {
        case 0:
            send(bytes(input_.byte()));
            break;
        case 1: {
            const auto command = static_cast<Command>(input_.byte() % 18);
            message(command, bytes(input_.byte()));
            break;
        }
        case 2:
            add(payload, DmaMap{32, input_.byte() % 4U, pages(1), pages(2), pages(1)});
            message(Command::dma_map, payload);
            break;
        case 3:
            add(payload, DmaUnmap{24, input_.byte() % 16 == 0 ? 2U : 0U, pages(2), pages(1)});
            message(Command::dma_unmap, payload);
            break;
        case 4: {
            const auto count = static_cast<std::uint32_t>(input_.number(1));
            add(payload, IrqSet{20, static_cast<std::uint32_t>(input_.number(1)), input_.byte() % 6U,
                                static_cast<std::uint32_t>(input_.address()), count});
            message(Command::device_set_irqs, payload);
            break;
        }
        case 5:
            add(payload,
                RegionAccess{input_.address(), input_.byte() % 9U, static_cast<std::uint32_t>(input_.number(2))});
            message(Command::region_read, payload);
            break;
        default: {
            const std::uint32_t count = input_.byte() % 9U;
            add(payload, RegionAccess{input_.address() % (2 * bar_bytes), input_.byte() % 8 == 0 ? 7U : 0U, count});
            const std::vector<std::byte> data = bytes(count);
            payload.insert(payload.end(), data.begin(), data.end());
            message(Command::region_write, payload);
        }
        }
    }
    void message(Command command, const std::vector<std::byte>& payload)
    {
        std::vector<std::byte> whole;
        const Header header{.id = 1,
                            .command = command,
                            .size = static_cast<std::uint32_t>(sizeof(Header) + payload.size()),
                            .flags = input_.byte() % 4 == 1 ? flag_no_reply : 0,
                            .error = 0};
        add(whole, header);
        whole.insert(whole.end(), payload.begin(), payload.end());
        send(whole);
    }
    void send(std::span<const std::byte> whole)
    {
        static const std::array<int, 2> files = shared_files();
        if (whole.empty())
            return;
        const std::uint8_t with = input_.byte();
        const std::vector<int> sent(with % 2 * (with / 2 % 12), files[with / 32 % 2]);
        iovec part{.iov_base = const_cast<std::byte*>(whole.data()), .iov_len = whole.size()};
        msghdr text{};
        text.msg_iov = &part;
        text.msg_iovlen = 1;
        std::vector<char> control(CMSG_SPACE(sent.size() * sizeof(int)));
        if (!sent.empty()) {
            text.msg_control = control.data();
            text.msg_controllen = control.size();
            cmsghdr* const head = CMSG_FIRSTHDR(&text);
            head->cmsg_level = SOL_SOCKET;
            head->cmsg_type = SCM_RIGHTS;
            head->cmsg_len = CMSG_LEN(sent.size() * sizeof(int));
            std::memcpy(CMSG_DATA(head), sent.data(), sent.size() * sizeof(int));
        }
        connected_ = ::sendmsg(socket_, &text, MSG_NOSIGNAL) == static_cast<ssize_t>(whole.size());
    }

    int socket_;
    Input input_;
    bool connected_ = true;
};

void read_all(int socket)
{
    std::array<char, 4096> answers{};
    while (::recv(socket, answers.data(), answers.size(), 0) > 0)
        ;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const bool quiet = [] {
        set_log_sink([](Severity, std::string_view) {});
        return true;
    }();
    fuzz::require(quiet);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return 0;
    const FileDescriptor mine{ends[0]};
    FileDescriptor servers{ends[1]};

    dma::Memory memory;
    UsingDevice device{memory};
    Vectors vectors{8};
    const sockets::Stop stop;
    const Served served{.device = device,
                        .memory = memory,
                        .vectors = vectors,
                        .exclusively = [&](const auto& change) { memory.exclusively(change); },
                        .config_bytes = config_bytes,
                        .bar_bytes = bar_bytes};
    std::thread server{[&] {
        Connection connection{std::move(servers), stop};
        try {
            Session{connection, served}.run();
        } catch (const Error& error) {
            fuzz::require(error.error_number() == EPROTO);
        }
    }};
    std::thread reader{[&] { read_all(mine.get()); }};
    Client{mine.get(), {data, size}}.talk();
    ::shutdown(mine.get(), SHUT_WR);
    server.join();
    reader.join();

    const dma::MemoryCounts counts = memory.counts();
    fuzz::require(counts.without_memory <= counts.ranges && counts.ranges <= dma::Memory::most_ranges);
    memory.unmap_all();
    fuzz::require(memory.memory(DmaAddress{0}, 1, hca::Direction::read).empty());
    return 0;
}

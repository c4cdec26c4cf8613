// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Who comes to a link's path, or listens there, and greets in any way, with any descriptors: it is joined if and
//! only if it may be, gets an answer or is hung up on, and nothing of it is left behind.
#include "input.hpp"

#include "support/descriptor_message.hpp"
#include "unit/hca_app/scratch_folder.hpp"

#include "fabric/cable.hpp"

#include <mrzone/base.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace mrz;
using namespace mrz::fabric;
using mrz::fuzz::Input;

namespace {

constexpr PortAddress own{17, 0x1111};
constexpr int type = SOCK_SEQPACKET;
constexpr std::size_t wire_bytes = 4096 + 2 * hca::WireMemory::ring_bytes;

FileDescriptor memory_of(std::size_t bytes, int seals)
{
    FileDescriptor memory{::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    fuzz::require(memory.valid() && ::ftruncate(memory.get(), static_cast<off_t>(bytes)) == 0 &&
                  ::fcntl(memory.get(), F_ADD_SEALS, seals) == 0);
    return memory;
}

//! What a peer may send along; the first one is as it has to be.
const std::vector<FileDescriptor>& descriptors()
{
    static const std::vector<FileDescriptor> all = [] {
        constexpr int size = F_SEAL_SHRINK | F_SEAL_GROW;
        std::vector<FileDescriptor> made;
        made.push_back(memory_of(wire_bytes, size));
        made.push_back(memory_of(wire_bytes, 0));
        made.push_back(memory_of(wire_bytes, F_SEAL_SHRINK));
        made.push_back(memory_of(wire_bytes - 1, size));
        made.push_back(memory_of(wire_bytes + 4096, size));
        made.push_back(memory_of(0, size));
        made.push_back(memory_of(wire_bytes, size | F_SEAL_WRITE));
        made.push_back(memory_of(wire_bytes, size | F_SEAL_FUTURE_WRITE));
        const std::string again = "/proc/self/fd/" + std::to_string(made.front().get());
        made.emplace_back(::open(again.c_str(), O_RDONLY | O_CLOEXEC));
        made.emplace_back(::open(again.c_str(), O_PATH | O_CLOEXEC));
        made.emplace_back(::open("/dev/zero", O_RDWR | O_CLOEXEC));
        made.emplace_back(::open("/tmp", O_RDONLY | O_CLOEXEC));
        made.emplace_back(::eventfd(0, EFD_CLOEXEC));
        made.emplace_back(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
        for (const FileDescriptor& one : made)
            fuzz::require(one.valid());
        return made;
    }();
    return all;
}

std::string path_at(const char* name)
{
    static const test::ScratchFolder folder;
    return folder / name;
}

//! Waits for more than anything takes.
void wait_for(int socket)
{
    pollfd wanted{socket, POLLIN, 0};
    fuzz::require(::poll(&wanted, 1, 30'000) == 1);
}

void wait_for_the_end(int socket)
{
    std::array<char, 256> words{};
    ssize_t length = 1;
    while (length > 0) {
        wait_for(socket);
        length = ::recv(socket, words.data(), words.size(), MSG_DONTWAIT);
    }
    // Who is hung up on with his words unread is told of a reset.
    fuzz::require(length == 0 || errno == ECONNRESET);
}

struct Said {
    std::vector<std::byte> message;
    std::vector<int> descriptors;
    bool greeting = false; //!< As this version has it.
    bool sound = false;    //!< Of a port that may be linked with.
};

Said say(Input& input, Greeting::Kind usual, bool with_memory)
{
    Said said;
    Greeting greeting = make_greeting(usual, {18, 0x2222}, "why");
    const auto sometimes = [&input](auto& number) {
        if (input.byte() % 8 == 1)
            number = static_cast<std::remove_reference_t<decltype(number)>>(input.number(2));
    };
    sometimes(greeting.kind);
    sometimes(greeting.version);
    sometimes(greeting.lid);
    sometimes(greeting.length);
    if (input.byte() % 8 == 1)
        greeting.guid = input.byte() % 2 == 0 ? own.guid : input.number(8);
    if (input.byte() % 8 == 1)
        greeting.magic[input.below(greeting.magic.size())] = static_cast<char>(input.byte());
    for (unsigned count = input.byte() % 8 == 1 ? input.byte() : 0; count > 0; --count)
        greeting.text[input.below(greeting.text.size())] = static_cast<char>(input.byte());
    const auto bytes = std::as_bytes(std::span{&greeting, 1});
    said.message.assign(bytes.begin(), bytes.end());
    if (input.byte() % 8 == 1)
        said.message.resize(input.below(300), std::byte{input.byte()});
    const Greeting expected;
    said.greeting = said.message.size() == sizeof greeting && greeting.magic == expected.magic &&
                    greeting.version == expected.version;
    said.sound = said.greeting && greeting.kind == usual && greeting.lid != own.lid && greeting.guid != own.guid;

    const auto& all = descriptors();
    if (with_memory)
        said.descriptors.push_back(all[input.byte() % 4 == 1 ? input.below(all.size()) : 0].get());
    if (input.byte() % 8 == 1) {
        said.descriptors.clear();
        for (unsigned count = input.byte() % 16 == 0 ? 253 : input.byte() % 4; count > 0; --count)
            said.descriptors.push_back(all[input.below(all.size())].get());
    }
    said.greeting = said.greeting && said.descriptors.size() <= 1;
    said.sound = said.sound && said.descriptors.size() <= 1 &&
                 (!with_memory || (said.descriptors.size() == 1 && said.descriptors.front() == all.front().get()));
    return said;
}

//! The device that others come to, and how often it was joined with one.
struct First {
    std::atomic<unsigned> joined = 0;
    Cable cable{path_at("first"), own, [this](const Cable::Joined&) { ++joined; }};

    [[nodiscard]] FileDescriptor connect() const
    {
        while (true) {
            try {
                return sockets::connect(cable.path(), type);
            } catch (const Error&) {
                ::poll(nullptr, 0, 1); // until it listens
            }
        }
    }
};

void come_to(First& first, Input& input)
{
    const unsigned joined_before = first.joined;
    const FileDescriptor socket = first.connect();
    const bool says = input.byte() % 8 != 1;
    const Said said = say(input, Greeting::ask, true);
    if (says)
        fuzz::require(test::send_with_descriptors(socket.get(), said.message, said.descriptors));
    else
        ::shutdown(socket.get(), SHUT_WR);
    wait_for(socket.get());
    const Received answer = receive(socket.get());
    fuzz::require(answer.result == Received::Result::greeting || answer.result == Received::Result::gone);
    fuzz::require(!answer.memory.valid());
    const bool accepted = answer.result == Received::Result::greeting && answer.greeting.kind == Greeting::accept;
    fuzz::require(accepted == (says && said.sound));
    wait_for_the_end(socket.get());
    fuzz::require(first.joined == joined_before + (accepted ? 1 : 0));
    if (accepted)
        first.cable.lost();
}

//! Comes second, and asks whoever listens.
void be_asked(Input& input)
{
    const sockets::Listener listener{path_at("second"), type};
    std::atomic<unsigned> joined = 0;
    const Cable cable{listener.path(), own, [&](const Cable::Joined&) { ++joined; }};
    const sockets::Stop never;
    const std::optional<FileDescriptor> socket = listener.accept(never);
    wait_for(socket->get());
    Received asked = receive(socket->get());
    fuzz::require(asked.result == Received::Result::greeting && asked.greeting.kind == Greeting::ask &&
                  asked.greeting.port() == own);
    static_cast<void>(hca::WireMemory::adopt(std::move(asked.memory)));
    const std::uint8_t how = input.byte() % 8;
    if (how == 1)
        return; // silent, as long as it takes the other to end
    const Said said = say(input, Greeting::accept, false);
    if (how == 2)
        ::shutdown(socket->get(), SHUT_WR);
    else
        fuzz::require(test::send_with_descriptors(socket->get(), said.message, said.descriptors));
    wait_for_the_end(socket->get());
    fuzz::require(joined == (how != 2 && said.sound ? 1U : 0U));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static First& first = [&]() -> First& {
        set_log_sink([](Severity, std::string_view) {});
        static_cast<void>(descriptors());
        static First made;
        const FileDescriptor nobody = made.connect();
        ::shutdown(nobody.get(), SHUT_WR);
        wait_for_the_end(nobody.get());
        return made;
    }();
    const std::size_t before = test::open_descriptors(); // the fuzzer may have opened some meanwhile
    Input input{data, size};
    while (!input.empty()) {
        if (input.byte() % 2 == 0)
            come_to(first, input);
        else
            be_asked(input);
        fuzz::require(test::open_descriptors() == before);
    }
    return 0;
}

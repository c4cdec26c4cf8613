// SPDX-License-Identifier: BSD-3-Clause
#include <hca/wire.hpp>

#include <mrzone/base.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::hca {
namespace {

constexpr std::size_t control_bytes = 4096;
constexpr std::size_t memory_bytes = control_bytes + 2 * WireMemory::ring_bytes;
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW;

static_assert(2 * sizeof(RingControl) <= control_bytes);
static_assert((WireMemory::ring_bytes & (WireMemory::ring_bytes - 1)) == 0 &&
              WireMemory::ring_bytes >= 4 * ring_bytes_of(most_payload));

[[noreturn]] void fail(const char* call)
{
    const int error = errno;
    throw Error{error,
                {.trouble = Trouble::internal,
                 .what = "making the rings of a wire, " + format_size(memory_bytes),
                 .limit = std::string{call} + ": " + std::strerror(error),
                 .remedy = "see that the process may have memory and descriptors (ulimit -n, memory.max)"}};
}

[[noreturn]] void refuse(const char* limit)
{
    throw Error{EPROTO,
                {.trouble = Trouble::data,
                 .what = "taking the rings of a wire from a peer",
                 .limit = limit,
                 .remedy = "let both ends be of one version of mrzone"}};
}

} // namespace

WireMemory WireMemory::make()
{
    FileDescriptor memory{::memfd_create("mrz-wire", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!memory.valid())
        fail("memfd_create");
    // Now, so that a lack of memory is an error and not a signal later.
    if (::fallocate(memory.get(), 0, 0, static_cast<off_t>(memory_bytes)) != 0)
        fail("fallocate");
    if (::fcntl(memory.get(), F_ADD_SEALS, seals) != 0)
        fail("fcntl(F_ADD_SEALS)");
    return WireMemory{std::move(memory)};
}

WireMemory WireMemory::adopt(FileDescriptor descriptor)
{
    if (!descriptor.valid())
        refuse("no descriptor of them came along");
    struct stat status {};
    // Only memfds have seals; without them the peer could truncate it, and reading would be a SIGBUS.
    const int present = ::fcntl(descriptor.get(), F_GET_SEALS);
    if (present < 0 || (present & seals) != seals)
        refuse("its size is not sealed");
    if (::fstat(descriptor.get(), &status) != 0 || status.st_size != static_cast<off_t>(memory_bytes))
        refuse("it has another size");
    return WireMemory{std::move(descriptor)};
}

WireMemory::WireMemory(FileDescriptor descriptor) : descriptor_{std::move(descriptor)}
{
    void* const address = ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
    if (address == MAP_FAILED)
        fail("mmap");
    address_ = static_cast<std::byte*>(address);
}

WireMemory::WireMemory(WireMemory&& other) noexcept
    : descriptor_{std::move(other.descriptor_)}, address_{std::exchange(other.address_, nullptr)}
{
}

WireMemory::~WireMemory()
{
    if (address_ != nullptr)
        ::munmap(address_, memory_bytes);
}

// Fresh memory is zeros, and so are the counters of a ring; what a peer sent is whatever it is.
RingControl& WireMemory::control(bool second) const noexcept
{
    return *std::launder(reinterpret_cast<RingControl*>(address_ + (second ? sizeof(RingControl) : 0)));
}

std::byte* WireMemory::data(bool second) const noexcept
{
    return address_ + control_bytes + (second ? ring_bytes : 0);
}

Wire::Wire(FileDescriptor socket, WireMemory memory, Side side)
    : owner_{::getpid()}, socket_{std::move(socket)}, memory_{std::move(memory)},
      out_{memory_.control(side == Side::taker), memory_.data(side == Side::taker), WireMemory::ring_bytes},
      in_{memory_.control(side == Side::maker), memory_.data(side == Side::maker), WireMemory::ring_bytes}
{
    memory_.close_descriptor();
    ucred peer{};
    socklen_t length = sizeof peer;
    // Its number is 0 in a namespace that does not see it. Had it ended by now its number might be another's, who
    // will be watched in vain: the socket, which has no children to keep it then, tells.
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 0)
        process_ = FileDescriptor{static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0))};
    if (!process_.valid() && peer.pid > 0 && errno != ESRCH)
        log_once(Severity::warning,
                 std::string{"a connection's peer is watched by its socket alone, which a child of "
                             "its may keep open (pidfd_open: "} +
                     std::strerror(errno) + ')');
}

void Wire::wake() const noexcept
{
    const char nothing = 0;
    // Full: then it has not read what woke it before, and will.
    ::send(socket_.get(), &nothing, sizeof nothing, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Wire::Heard Wire::hear() const
{
    Heard heard;
    std::array<char, 256> text{};
    // A peer that never stops talking is heard no longer than this; the socket stays readable.
    for (int messages = 0; messages < 64; ++messages) {
        const ssize_t length = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            heard.gone = !heard.why.empty();
            return heard;
        }
        if (length <= 0) {
            heard.gone = true;
            return heard;
        }
        if (length > 1) { // a farewell
            heard.why = printable({text.data(), static_cast<std::size_t>(length)});
        }
    }
    return heard;
}

void Wire::hang_up(std::string_view why) const noexcept
{
    if (owner_ != ::getpid())
        return;
    if (why.size() > 1)
        ::send(socket_.get(), why.data(), std::min<std::size_t>(why.size(), 256), MSG_DONTWAIT | MSG_NOSIGNAL);
    ::shutdown(socket_.get(), SHUT_RDWR);
}

} // namespace mrz::hca

// SPDX-License-Identifier: BSD-3-Clause
#include "sharing.hpp"

#include "dpdk.hpp"

#include <rte_config.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <span>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// One message answers for one window. Its descriptors are: a table of the window's pieces (too long for a message,
// so a memory file), the attachment, then the window's files. No more fit than RTE_MP_MAX_FD_NUM.

namespace mrz {
namespace {

constexpr char action_name[] = "mrzone_window";
constexpr std::size_t most_files = RTE_MP_MAX_FD_NUM - 2;
static_assert(most_files >= Window::most_threads + 1); // and the header's, where it is of another page size

struct Request {
    std::array<char, 32> arena;
    std::uint64_t window;
    std::uint8_t want_map; //!< 0: only count the windows.
};
struct Reply {
    std::int32_t error_number;
    std::uint64_t windows;
};
static_assert(sizeof(Request) <= RTE_MP_MAX_PARAM_LEN && sizeof(Reply) <= RTE_MP_MAX_PARAM_LEN);

struct TableHead {
    std::uint64_t address, length, header_length, page_size, pieces;
    std::int32_t node; //!< -1: none.
};

//! What is sent of a window. Both point into what a move of the Window leaves in its place.
struct OfferedWindow {
    const WindowMap* map;
    std::span<const FileDescriptor> files;
};
struct Offered {
    std::vector<OfferedWindow> windows;
    std::vector<FileDescriptor> watched_attachments; //!< Our ends; a hang-up means that the other end is gone.
};

// Never destroyed: the EAL's thread may answer while the process ends.
std::mutex& offers_mutex = *new std::mutex;
std::map<std::string, Offered, std::less<>>& offers = *new std::map<std::string, Offered, std::less<>>;

FileDescriptor checked(int fd, const char* call)
{
    if (fd < 0)
        throw Error{errno,
                    {.trouble = Trouble::internal,
                     .what = std::string{call} + " failed while sharing a window",
                     .limit = std::strerror(errno),
                     .remedy = "check the open-files limit (ulimit -n)"}};
    return FileDescriptor{fd};
}

void write_all(int fd, std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        const ssize_t done = ::write(fd, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            throw dpdk_error(errno, "cannot write a window's table");
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

FileDescriptor write_table(const WindowMap& map)
{
    FileDescriptor table = checked(memfd_create("mrzone-table", MFD_CLOEXEC), "memfd_create");
    const TableHead head{.address = map.address,
                         .length = map.length,
                         .header_length = map.header_length,
                         .page_size = map.page_size,
                         .pieces = map.pieces.size(),
                         .node = map.node.value_or(-1)};
    write_all(table.get(), std::as_bytes(std::span{&head, 1}));
    write_all(table.get(), std::as_bytes(std::span{map.pieces}));
    return table;
}

WindowMap read_table(const FileDescriptor& table)
{
    TableHead head{};
    WindowMap map;
    struct stat status {};
    bool whole = ::fstat(table.get(), &status) == 0 &&
                 ::pread(table.get(), &head, sizeof head, 0) == static_cast<ssize_t>(sizeof head);
    // The table's own size bounds the count that it claims.
    const std::uint64_t room = whole ? (static_cast<std::uint64_t>(status.st_size) - sizeof head) : 0;
    whole = whole && room % sizeof(WindowMap::Piece) == 0 && head.pieces == room / sizeof(WindowMap::Piece);
    if (whole) {
        map.pieces.resize(head.pieces);
        whole = ::pread(table.get(), map.pieces.data(), room, sizeof head) == static_cast<ssize_t>(room);
    }
    if (!whole)
        throw Error{EPROTO,
                    {.trouble = Trouble::internal,
                     .what = "the primary process sent a table of a window that cannot be read",
                     .limit = "",
                     .remedy = "run both processes with the same version of mrzone"}};
    map.address = head.address;
    map.length = head.length;
    map.header_length = head.header_length;
    map.page_size = head.page_size;
    if (head.node >= 0)
        map.node = head.node;
    return map;
}

bool hung_up(const FileDescriptor& attachment)
{
    pollfd watched{.fd = attachment.get(), .events = 0, .revents = 0};
    return ::poll(&watched, 1, 0) == 1 && (watched.revents & POLLHUP) != 0;
}

void drop_dead_attachments(Offered& offered)
{
    std::erase_if(offered.watched_attachments, hung_up);
}

//! Sends one reply with copies of \p fds, which stay ours.
int send_reply(const Reply& reply, std::span<const int> fds, const void* peer)
{
    rte_mp_msg message{};
    std::memcpy(message.name, action_name, sizeof action_name);
    message.len_param = sizeof reply;
    std::memcpy(message.param, &reply, sizeof reply);
    message.num_fds = static_cast<int>(fds.size());
    std::ranges::copy(fds, message.fds);
    return rte_mp_reply(&message, static_cast<const char*>(peer));
}

void answer(const Request& request, const void* peer)
{
    const std::lock_guard lock{offers_mutex};
    const auto found = offers.find(std::string_view{request.arena.data()});
    // One that is being built, or taken apart, has no windows.
    if (found == offers.end() || found->second.windows.empty()) {
        send_reply({.error_number = ENOENT, .windows = 0}, {}, peer);
        return;
    }
    Offered& offered = found->second;
    const Reply reply{.error_number = 0, .windows = offered.windows.size()};
    if (!request.want_map) {
        send_reply(reply, {}, peer);
        return;
    }
    if (request.window >= offered.windows.size() || offered.windows[request.window].files.size() > most_files) {
        send_reply({.error_number = ENOENT, .windows = offered.windows.size()}, {}, peer);
        return;
    }
    const OfferedWindow& window = offered.windows[request.window];
    const FileDescriptor table = write_table(*window.map);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw dpdk_error(errno, "cannot make a pipe");
    FileDescriptor ours{ends[0]};
    const FileDescriptor theirs{ends[1]};
    std::vector<int> fds = {table.get(), theirs.get()};
    for (const FileDescriptor& file : window.files)
        fds.push_back(file.get());
    drop_dead_attachments(offered);
    offered.watched_attachments.push_back(std::move(ours)); // before the reply: the peer may map at once
    send_reply(reply, fds, peer);
}

int on_request(const rte_mp_msg* message, const void* peer)
{
    Request request{};
    if (message->len_param != static_cast<int>(sizeof request))
        return -1;
    std::memcpy(&request, message->param, sizeof request);
    request.arena.back() = '\0';
    try {
        answer(request, peer);
    } catch (const std::exception& failure) {
        log(Severity::warning, std::string{"a secondary process's request failed: "} + failure.what());
        send_reply({.error_number = EIO, .windows = 0}, {}, peer);
    }
    return 0;
}

struct Answer {
    Reply reply{};
    std::vector<FileDescriptor> fds;
};

//! Without room for the descriptors of an answer the EAL would drop it, and the asking would only time out.
void check_descriptors(const std::string& what)
{
    std::vector<FileDescriptor> room;
    for (int i = 0; i < RTE_MP_MAX_FD_NUM; ++i) {
        room.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (room.back().get() >= 0)
            continue;
        const int error_number = errno;
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        throw Error{error_number,
                    {.trouble = Trouble::internal,
                     .what = what,
                     .limit = "open files of this process, all but " + std::to_string(i) + " in use",
                     .present = limit.rlim_cur,
                     .need = limit.rlim_cur + static_cast<unsigned>(RTE_MP_MAX_FD_NUM - i),
                     .remedy = "raise it: ulimit -n"}};
    }
}

Answer ask(const std::string& arena, std::size_t window, bool want_map)
{
    const std::string what = "cannot attach the arena \"" + arena + '"';
    check_descriptors(what);
    Request request{.arena = {}, .window = window, .want_map = want_map};
    arena.copy(request.arena.data(), request.arena.size() - 1);
    rte_mp_msg message{};
    std::memcpy(message.name, action_name, sizeof action_name);
    message.len_param = sizeof request;
    std::memcpy(message.param, &request, sizeof request);

    struct rte_mp_reply replies {};
    const timespec patience{.tv_sec = 5, .tv_nsec = 0};
    if (rte_mp_request_sync(&message, &replies, &patience) != 0) {
        const int error_number = rte_errno;
        if (error_number == ENOTSUP)
            throw Error{ENOTSUP,
                        {.trouble = Trouble::unsupported,
                         .what = what,
                         .limit = "this EAL has no secondary processes (--in-memory or --no-shconf)",
                         .remedy = "start both processes without these options"}};
        throw Error{error_number == ETIMEDOUT ? ENOENT : error_number,
                    {.trouble = Trouble::invalid,
                     .what = what,
                     .limit = "the primary process does not answer: " + std::string{rte_strerror(error_number)},
                     .remedy = "build an arena of this name in the primary first"}};
    }
    Answer answer;
    if (replies.nb_received == 1 && replies.msgs[0].len_param == static_cast<int>(sizeof answer.reply)) {
        std::memcpy(&answer.reply, replies.msgs[0].param, sizeof answer.reply);
        for (int i = 0; i < replies.msgs[0].num_fds; ++i) {
            answer.fds.emplace_back(replies.msgs[0].fds[i]);
            ::fcntl(answer.fds.back().get(), F_SETFD,
                    FD_CLOEXEC); // the attachment above all: it says who is attached
        }
    } else {
        answer.reply.error_number = ENOENT;
    }
    std::free(replies.msgs); // NOLINT(cppcoreguidelines-no-malloc): DPDK's contract
    if (answer.reply.error_number != 0)
        throw Error{answer.reply.error_number,
                    {.trouble = Trouble::invalid,
                     .what = what,
                     .limit = answer.reply.error_number == ENOENT
                                  ? "the primary process has no arena of this name (or no such window)"
                                  : "the primary process could not share it; its log says why",
                     .remedy = "build an arena of this name in the primary first"}};
    return answer;
}

} // namespace

Offer::Offer(std::string name) : name_{std::move(name)}
{
    // Refused where there are no secondary processes, and where an earlier arena has registered it: both are fine.
    if (rte_mp_action_register(action_name, on_request) != 0 && rte_errno != ENOTSUP && rte_errno != EEXIST)
        throw dpdk_error(rte_errno, "cannot offer the arena \"" + name_ + "\" to secondary processes");
    const std::lock_guard lock{offers_mutex};
    offers.emplace(name_, Offered{});
}

Offer::~Offer()
{
    if (owner_ != ::getpid())
        return;
    const std::lock_guard lock{offers_mutex};
    offers.erase(name_);
}

void Offer::make_room(std::size_t windows)
{
    const std::lock_guard lock{offers_mutex};
    offers.at(name_).windows.reserve(windows);
}

void Offer::publish(std::span<const Window> windows)
{
    const std::lock_guard lock{offers_mutex};
    std::vector<OfferedWindow>& offered = offers.at(name_).windows;
    offered.clear();
    for (const Window& window : windows)
        offered.push_back({&window.map(), window.files()});
}

std::size_t Offer::withdraw()
{
    const std::lock_guard lock{offers_mutex};
    Offered& offered = offers.at(name_);
    drop_dead_attachments(offered);
    if (offered.watched_attachments.empty())
        offered.windows.clear();
    return offered.watched_attachments.size();
}

std::size_t count_shared_windows(const std::string& arena)
{
    return ask(arena, 0, false).reply.windows;
}

SharedWindow map_shared_window(const std::string& arena, std::size_t index)
{
    Answer answer = ask(arena, index, true);
    if (answer.fds.size() < 3)
        throw Error{EPROTO,
                    {.trouble = Trouble::internal,
                     .what = "the primary process sent a window of \"" + arena + "\" without its files",
                     .limit = "open files",
                     .remedy = "check the open-files limit (ulimit -n)"}};
    const WindowMap map = read_table(answer.fds[0]);
    Attachment attachment = std::move(answer.fds[1]);
    answer.fds.erase(answer.fds.begin(), answer.fds.begin() + 2);
    return {Window::attach(map, std::move(answer.fds)), std::move(attachment)};
}

} // namespace mrz

// SPDX-License-Identifier: BSD-3-Clause
#include "pool_journal.hpp"

#include "output.hpp"
#include "signals.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mrz::app {
namespace {

constexpr auto journal_name = "pools.json";
constexpr auto next_name = "pools.json.next";
constexpr auto lock_name = "pools.lock";

[[noreturn]] void refuse(int error_number, std::string what)
{
    const bool permission = error_number == EACCES || error_number == EPERM || error_number == EROFS;
    throw Error{error_number, Cause{.trouble = permission ? Trouble::permission : Trouble::internal,
                                    .what = std::move(what),
                                    .limit = std::strerror(error_number),
                                    .remedy = permission ? "run it as root (sudo)" : "look at that place"}};
}

[[noreturn]] void refuse_folder(int error_number, const std::filesystem::path& folder)
{
    if (error_number != ENOTDIR && error_number != ENOENT && error_number != ELOOP && error_number != ENAMETOOLONG)
        refuse(error_number, "making the folder " + folder.string());
    throw Error{error_number,
                Cause{.trouble = Trouble::invalid,
                      .what = "making the journal's folder " + folder.string(),
                      .limit = std::strerror(error_number),
                      .remedy = "remove what is there, or give MRZ_RUN_DIR a folder whose parent exists"}};
}

Json to_json(const std::vector<NodePages>& nodes)
{
    Json out = Json::array();
    for (const NodePages& entry : nodes)
        out.push_back({{"node", entry.node ? Json(*entry.node) : Json(nullptr)}, {"pages", entry.pages}});
    return out;
}

// nlohmann's get() would take -1 for 2^64 - 1, and 1.5 for 1.
template <class T = std::uint64_t>
T whole_number(const Json& object, const char* name)
{
    const Json& value = object.at(name);
    if (!value.is_number_unsigned() || !std::in_range<T>(value.get<std::uint64_t>()))
        throw std::runtime_error{fmt::format("\"{}\" is no whole number, or too large: {}", name, value.dump())};
    return value.get<T>();
}

const Json& list(const Json& object, const char* name)
{
    const Json& value = object.at(name);
    if (!value.is_array())
        throw std::runtime_error{fmt::format("\"{}\" is no list", name)};
    return value;
}

NodePages node_pages_from(const Json& json)
{
    NodePages out{.node = {}, .pages = whole_number(json, "pages")};
    if (!json.at("node").is_null())
        out.node = whole_number<int>(json, "node");
    return out;
}

std::vector<NodePages> nodes_from(const Json& json)
{
    std::vector<NodePages> out;
    for (const Json& entry : json)
        out.push_back(node_pages_from(entry));
    return out;
}

std::uint64_t serial_from(const Json& entry)
{
    const std::uint64_t serial = whole_number(entry, "serial");
    if (serial == 0 ||
        serial == std::numeric_limits<std::uint64_t>::max()) // one has no successor, the other no owner
        throw std::runtime_error{fmt::format("there is no serial {}", serial)};
    return serial;
}

OwnedChange::State state_from(const std::string& name)
{
    if (name == "changing")
        return OwnedChange::State::changing;
    if (name == "held")
        return OwnedChange::State::held;
    throw std::runtime_error{fmt::format("there is no state \"{}\"", name)};
}

void write_all(int fd, std::string_view text, const std::filesystem::path& path)
{
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            refuse(errno, "writing " + path.string());
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(fd) != 0)
        refuse(errno, "writing " + path.string());
}

} // namespace

std::filesystem::path PoolJournal::default_folder()
{
    const char* const folder = std::getenv("MRZ_RUN_DIR");
    return folder != nullptr && *folder != '\0' ? folder : "/run/mrzone";
}

bool PoolJournal::exists(const std::filesystem::path& folder)
{
    std::error_code ignored;
    return std::filesystem::exists(folder, ignored);
}

PoolJournal::PoolJournal(const std::filesystem::path& folder) : folder_{folder}
{
    lock();
    read();
}

PoolJournal::~PoolJournal()
{
    // All of it under the lock; a program that waited for the old lock file sees that it is not the one in the
    // folder.
    if (lock_.get() < 0 || !sets.empty() || !owned.empty())
        return;
    std::error_code ignored;
    std::filesystem::remove(folder_ / next_name, ignored);
    std::filesystem::remove(folder_ / lock_name, ignored);
    std::filesystem::remove(folder_, ignored); // only if empty
}

void PoolJournal::make_folder() const
{
    if (::mkdir(folder_.c_str(), 0755) == 0)
        return;
    const int error_number = errno;
    std::error_code ignored;
    // A link whose target is missing exists for mkdir(2), and does not for open(2): nobody is tidying there.
    if (error_number == EEXIST &&
        (std::filesystem::is_directory(folder_, ignored) ||
         std::filesystem::symlink_status(folder_, ignored).type() == std::filesystem::file_type::not_found))
        return;
    refuse_folder(error_number == EEXIST ? ENOTDIR : error_number, folder_);
}

void PoolJournal::lock()
{
    const std::filesystem::path path = folder_ / lock_name;
    bool said = false;
    for (;;) {
        throw_if_interrupted();
        make_folder();
        FileDescriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
        if (file.get() < 0) {
            if (errno == ENOENT) // another program has just tidied the folder away
                continue;
            refuse(errno, "opening " + path.string());
        }
        while (::flock(file.get(), said ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) {
                say("another program is changing a page pool; waiting for it");
                said = true;
            } else if (errno != EINTR) {
                refuse(errno, "locking " + path.string());
            }
            throw_if_interrupted();
        }
        struct stat held {
        }, present{};
        if (::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &present) == 0 && held.st_ino == present.st_ino &&
            held.st_dev == present.st_dev) {
            lock_ = std::move(file);
            return;
        }
    }
}

void PoolJournal::read()
{
    const std::filesystem::path path = folder_ / journal_name;
    std::ifstream file{path};
    if (!file) {
        if (std::error_code ignored; std::filesystem::exists(path, ignored))
            refuse(EACCES, "reading " + path.string());
        return;
    }
    try {
        const Json json = Json::parse(file);
        if (whole_number(json, "schema") != json_schema)
            throw std::runtime_error{"written by another version"};
        for (const Json& entry : list(json, "sets"))
            sets.push_back({.page_size = whole_number(entry, "page_size"),
                            .before = nodes_from(list(entry, "before")),
                            .made_by = entry.contains("made_by") ? whole_number(entry, "made_by") : 0});
        for (const Json& entry : list(json, "owned"))
            owned.push_back({.owner = {whole_number<pid_t>(entry, "pid"), whole_number(entry, "start_time")},
                             .command = entry.at("command").get<std::string>(),
                             .serial = serial_from(entry),
                             .page_size = whole_number(entry, "page_size"),
                             .state = state_from(entry.at("state").get<std::string>()),
                             .nodes = nodes_from(list(entry, "nodes")),
                             .claim = entry.contains("claim") ? node_pages_from(entry.at("claim")) : NodePages{}});
    } catch (const std::exception& error) {
        // The destructor does not run: the files stay as they are, for a person to look at.
        throw Error{EINVAL, Cause{.trouble = Trouble::invalid,
                                  .what = "reading the journal " + path.string(),
                                  .limit = error.what(),
                                  .remedy = "set the pools as you want them (/sys/kernel/mm/hugepages), then: rm " +
                                            path.string()}};
    }
}

void PoolJournal::save()
{
    const std::filesystem::path path = folder_ / journal_name;
    if (sets.empty() && owned.empty()) {
        if (::unlink(path.c_str()) != 0 && errno != ENOENT)
            refuse(errno, "removing " + path.string());
        return;
    }
    Json json{{"schema", json_schema}, {"sets", Json::array()}, {"owned", Json::array()}};
    for (const SetRecord& set : sets)
        json["sets"].push_back(
            {{"page_size", set.page_size}, {"before", to_json(set.before)}, {"made_by", set.made_by}});
    for (const OwnedChange& change : owned)
        json["owned"].push_back({{"pid", change.owner.pid},
                                 {"start_time", change.owner.start_time},
                                 {"command", change.command},
                                 {"serial", change.serial},
                                 {"page_size", change.page_size},
                                 {"state", change.state == OwnedChange::State::changing ? "changing" : "held"},
                                 {"nodes", to_json(change.nodes)},
                                 {"claim", to_json({change.claim}).front()}});

    const std::filesystem::path next = folder_ / next_name;
    {
        FileDescriptor file{::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644)};
        if (file.get() < 0)
            refuse(errno, "writing " + next.string());
        write_all(file.get(), json.dump(1) + "\n", next);
    }
    if (::rename(next.c_str(), path.c_str()) != 0)
        refuse(errno, "writing " + path.string());
    if (const FileDescriptor directory{::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        directory.get() >= 0)
        ::fsync(directory.get());
}

std::uint64_t PoolJournal::next_serial() const
{
    std::uint64_t highest = 0;
    for (const OwnedChange& change : owned)
        highest = std::max(highest, change.serial);
    return highest + 1;
}

OwnedChange* PoolJournal::find(std::uint64_t serial)
{
    const auto found = std::ranges::find(owned, serial, &OwnedChange::serial);
    return found == owned.end() ? nullptr : &*found;
}

void PoolJournal::erase_done(std::uint64_t serial)
{
    std::erase_if(owned, [serial](const OwnedChange& change) { return change.serial == serial; });
    for (SetRecord& set : sets)
        if (set.made_by == serial)
            set.made_by = 0;
}

void PoolJournal::erase_undone(std::uint64_t serial)
{
    std::erase_if(owned, [serial](const OwnedChange& change) { return change.serial == serial; });
    std::erase_if(sets, [serial](const SetRecord& set) { return set.made_by == serial; });
}

} // namespace mrz::app

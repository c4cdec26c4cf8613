// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A guest with an adapter, mlx5_0, for tests that run on the host: it runs a script after the other, while its
//! adapter is asked and broken.
#pragma once

#include "support/run_program.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrz::test {

inline std::string variable(const char* name)
{
    const char* value = std::getenv(name);
    if (value == nullptr)
        throw std::runtime_error{std::string{name} + " is not set"};
    return value;
}

//! A folder that the guest may write to.
class SharedFolder {
  public:
    SharedFolder()
    {
        char name[] = "/tmp/mrz-connectx-XXXXXX";
        if (::mkdtemp(name) == nullptr)
            throw std::runtime_error{"mkdtemp"};
        path = name;
    }
    ~SharedFolder() { std::filesystem::remove_all(path); }
    SharedFolder(const SharedFolder&) = delete;
    SharedFolder& operator=(const SharedFolder&) = delete;

    std::filesystem::path path;
};

class Guest {
  public:
    static constexpr int missing = 122; //!< mrz-vm(1): there is no QEMU, or no kernel.

    //! Boots it. \p options of the adapter. MRZ_VM, MRZ_HCA and MRZ_KERNEL say what it is made of.
    explicit Guest(const std::string& options = "registration=command")
        : vm_{{variable("MRZ_VM"), "run", "--kernel", variable("MRZ_KERNEL"), "--timeout", "1500", "--output",
               folder_.path, "--hca=" + options + ",control=" + control_path() + ",log=" + log_path(), "--",
               "/bin/sh", "-c", loop, "sh", folder_.path}}
    {
        up_ = vm_.wait_for_error("the guest is ready\n");
    }
    ~Guest() { end(); }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

    //! Else end() tells why not.
    [[nodiscard]] bool is_up() const noexcept { return up_; }

    //! Begins a script.
    void start(const std::string& script)
    {
        ++scripts_;
        write("script", script);
    }
    //! What became of the script that was begun last.
    ProgramResult finish()
    {
        wait_for_file("status");
        ProgramResult result;
        std::ifstream{file("status")} >> result.status;
        result.out = read("out");
        result.err = read("err");
        return result;
    }
    //! Waits until the script that runs has made a file. mrz-vm's time limit ends it all.
    void wait_for(const std::string& name) const { wait_until_there(folder_.path / name, IN_CREATE | IN_MOVED_TO); }
    //! Makes a file that the script may wait for.
    void make(const std::string& name) const { std::ofstream{folder_.path / name}.flush(); }
    void remove(const std::string& name) const { std::filesystem::remove(folder_.path / name); }
    ProgramResult run(const std::string& script)
    {
        start(script);
        return finish();
    }
    //! What the adapter answers to "mrz-hca control".
    nlohmann::json ask(std::vector<std::string> words) const
    {
        words.insert(words.begin(), {variable("MRZ_HCA"), "control", control_path()});
        const ProgramResult asked = RunningProgram{std::move(words)}.wait();
        if (asked.status != 0)
            throw std::runtime_error{"mrz-hca control: " + asked.err};
        return nlohmann::json::parse(asked.out);
    }
    [[nodiscard]] std::string log() const { return read_file(log_path()); }
    //! Turns it off, and says how it ended.
    ProgramResult end()
    {
        if (ended_)
            return result_;
        ended_ = true;
        std::ofstream{folder_.path / "end"}.flush();
        result_ = vm_.wait();
        return result_;
    }

  private:
    struct Descriptor {
        explicit Descriptor(int of) noexcept : number{of} {}
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
        ~Descriptor() { ::close(number); }
        const int number;
    };

    //! Of the guest: a script is there once its name is, and so is its status.
    static constexpr const char* loop = "cd \"$1\"\n"
                                        "echo 'the guest is ready' >&2\n"
                                        "next=1\n"
                                        "until [ -e end ]; do\n"
                                        "    if [ -e script.$next ]; then\n"
                                        "        sh script.$next >out.$next 2>err.$next </dev/null\n"
                                        "        echo $? >status.$next.new\n"
                                        "        mv status.$next.new status.$next\n"
                                        "        next=$((next + 1))\n"
                                        "    else\n"
                                        "        sleep 0.1\n"
                                        "    fi\n"
                                        "done\n";

    [[nodiscard]] std::string control_path() const { return folder_.path / "control"; }
    [[nodiscard]] std::string log_path() const { return folder_.path / "log"; }
    [[nodiscard]] std::filesystem::path file(const std::string& name) const
    {
        return folder_.path / (name + '.' + std::to_string(scripts_));
    }
    static std::string read_file(const std::filesystem::path& path)
    {
        std::ifstream stream{path};
        return {std::istreambuf_iterator<char>{stream}, {}};
    }
    [[nodiscard]] std::string read(const std::string& name) const { return read_file(file(name)); }
    void write(const std::string& name, const std::string& text) const
    {
        const std::filesystem::path there = file(name);
        const std::filesystem::path made = there.string() + ".new";
        std::ofstream{made} << text << std::flush;
        std::filesystem::rename(made, there);
    }
    //! The other machine tells by files only. mrz-vm's time limit ends it all.
    void wait_for_file(const std::string& name) const { wait_until_there(file(name), IN_MOVED_TO); }
    void wait_until_there(const std::filesystem::path& path, std::uint32_t how) const
    {
        const Descriptor news{::inotify_init1(IN_CLOEXEC)};
        const Descriptor end{static_cast<int>(::syscall(SYS_pidfd_open, vm_.pid(), 0))};
        if (::inotify_add_watch(news.number, folder_.path.c_str(), how) < 0 || end.number < 0)
            throw std::runtime_error{"nobody tells of the guest's files, or of its end"};
        while (!std::filesystem::exists(path)) {
            std::array<pollfd, 2> both{pollfd{news.number, POLLIN, 0}, pollfd{end.number, POLLIN, 0}};
            ::poll(both.data(), both.size(), -1);
            if (both[1].revents != 0)
                throw std::runtime_error{"the guest has ended"};
            std::array<char, 4096> events{};
            if (both[0].revents != 0 && ::read(news.number, events.data(), events.size()) < 0)
                throw std::runtime_error{"what the guest's files do cannot be read"};
        }
    }

    SharedFolder folder_;
    RunningProgram vm_;
    ProgramResult result_;
    unsigned scripts_ = 0;
    bool up_ = false;
    bool ended_ = false;
};

} // namespace mrz::test

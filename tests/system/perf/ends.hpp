// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! mrz-perf at both ends, as two processes.
#pragma once

#include "support/dialogue.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace mrz::test {

//! What a program ends with if the other end is at fault (mrz-perf(1)).
constexpr int peer_status = 10;

//! The program, the device and the host that the tests are over: of the environment, so that they run over any
//! device.
inline std::string setting(const char* name, const char* otherwise)
{
    const char* const value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}
inline std::string perf_program()
{
    return setting("MRZ_PERF", "mrz-perf");
}
inline std::string perf_device()
{
    return setting("MRZ_PERF_DEVICE", "soft");
}
inline std::string perf_host()
{
    return setting("MRZ_PERF_HOST", "127.0.0.1");
}

class PerfServer {
  public:
    explicit PerfServer(const std::vector<std::string>& options = {}) : program_{command(options)}
    {
        constexpr std::string_view after = " with device";
        if (!program_.hear("listening on ") || !program_.hear(after))
            throw std::runtime_error{"the server does not listen: " + program_.text()};
        const std::string heard = program_.last_heard();
        address_ = heard.substr(0, heard.size() - after.size());
        port_ = address_.substr(address_.rfind(':') + 1);
    }

    [[nodiscard]] const std::string& port() const noexcept { return port_; }
    [[nodiscard]] std::string address() const { return perf_host() + ':' + port_; }
    [[nodiscard]] Dialogue& program() noexcept { return program_; }

  private:
    static std::vector<std::string> command(const std::vector<std::string>& options)
    {
        std::vector<std::string> words{perf_program(), "server",   "--port",      "0",         "--bind",
                                       perf_host(),    "--device", perf_device(), "--timeout", "20"};
        words.insert(words.end(), options.begin(), options.end());
        return words;
    }

    Dialogue program_;
    std::string address_;
    std::string port_;
};

inline std::vector<std::string> client_command(const PerfServer& server, const std::vector<std::string>& options)
{
    std::vector<std::string> words{perf_program(), "client",      perf_host(), "--port", server.port(),
                                   "--device",     perf_device(), "--timeout", "20"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
}

//! Ticks of the clock that a process has had a processor for.
inline long processor_ticks(pid_t process)
{
    std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
    std::string text;
    std::getline(file, text);
    std::istringstream fields{text.substr(std::min(text.rfind(')') + 1, text.size()))}; // the third field on
    std::string skipped;
    for (int i = 0; i < 11; ++i)
        fields >> skipped;
    long user = 0;
    long system = 0;
    fields >> user >> system;
    return user + system;
}

//! Kibibytes that the kernel keeps in place for a process.
inline std::uint64_t kept_in_place(pid_t process)
{
    std::uint64_t sum = 0;
    std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
    for (std::string name; status >> name; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
        std::uint64_t kibibytes = 0;
        if ((name == "VmPin:" || name == "VmLck:") && status >> kibibytes)
            sum += kibibytes;
    }
    return sum;
}

//! Waits until operations of a client are under way, which never waits for them without a processor. \return false if
//! none are.
inline bool wait_until_busy(pid_t client)
{
    constexpr long enough = 10;
    const long before = processor_ticks(client);
    for (const auto deadline = std::chrono::steady_clock::now() + 2 * patience;
         processor_ticks(client) < before + enough;) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::yield();
    }
    return true;
}

//! Runs a client to its end.
inline ProgramResult run_client(const PerfServer& server, const std::vector<std::string>& options)
{
    return Dialogue{client_command(server, options)}.wait(std::chrono::minutes{2});
}

//! The object that a program with --json printed, whatever it said beside.
inline nlohmann::json printed_object(const std::string& text)
{
    const std::size_t begin = text.find("{\n");
    const std::size_t end = text.rfind("}\n");
    if (begin == std::string::npos || end == std::string::npos || end < begin)
        throw std::runtime_error{"no object: " + text};
    return nlohmann::json::parse(text.substr(begin, end + 1 - begin));
}

} // namespace mrz::test

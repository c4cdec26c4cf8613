// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! In the guest: registers memory so many times, and says how far it came: registering DEVICE COUNT [pieces|movable]
//!
//! With "pieces" it registers two halves first, makes a file "halves", waits for one "go", and then registers the
//! whole: with direct verbs by a key over the keys of these two. With "movable" it registers once, makes a movable
//! key lead there, waits likewise, and makes it lead there COUNT times.
#include <mrzone/host.hpp>
#include <mrzone/movable_key.hpp>
#include <mrzone/region.hpp>

#include "support/mapping.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <list>
#include <string_view>
#include <thread>

using namespace mrz;

namespace {

//! Who makes faults is on another machine, which tells by a file only. mrz-vm's time limit ends it all.
void wait_for_faults(const char* file)
{
    std::ofstream{file}.flush();
    while (!std::filesystem::exists("go"))
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
}

int move(const char* device, int count)
{
    const test::Mapping memory{8_KiB, 0};
    const Domain domain = Domain::open(device);
    const Region region = domain.register_memory(memory.bytes(), Access::local_write);
    MovableKey key{domain};
    RemoteRegion before = key.lead_to(region);
    wait_for_faults("leads");
    for (int i = 0; i < count; ++i) {
        try {
            const RemoteRegion now = key.lead_to(region, memory.bytes().first(4_KiB));
            std::cout << (now.rkey.value >> 8 == before.rkey.value >> 8 ? "moved\n" : "made anew\n");
            before = now;
        } catch (const Error& error) {
            std::cout << error.what() << (key.remote() ? "\nleads somewhere\n" : "\nleads nowhere\n");
        }
    }
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    const bool pieces = argc == 4 && std::string_view{argv[3]} == "pieces";
    const bool movable = argc == 4 && std::string_view{argv[3]} == "movable";
    if (argc != 3 && !pieces && !movable)
        return 2;
    std::list<Region> regions;
    const auto pinned = [] { return host::locked_memory().pinned.value_or(0); };
    try {
        if (movable)
            return move(argv[1], std::atoi(argv[2]));
        const test::Mapping memory{8_KiB, 0};
        const Domain domain = Domain::open(argv[1]);
        const std::uint64_t before = pinned();
        std::list<Region> halves;
        if (pieces) {
            halves.push_back(domain.register_memory(memory.bytes().first(4_KiB), Access::local_write));
            halves.push_back(domain.register_memory(memory.bytes().last(4_KiB), Access::local_write));
            wait_for_faults("halves");
        }
        const std::uint64_t there = pinned();
        try {
            for (int left = std::atoi(argv[2]); left > 0; --left)
                regions.push_back(domain.register_memory(memory.bytes(), Access::local_write | Access::remote_read));
        } catch (const Error& error) {
            std::cout << regions.size() << " were registered\nerrno " << error.error_number() << '\n'
                      << error.what() << '\n';
            const bool had_none = regions.empty();
            if (had_none && pinned() != there)
                std::cout << "memory is still pinned\n";
            regions.clear();
            halves.clear();
            if (pinned() != before)
                std::cout << "something is still pinned\n";
            return 1;
        }
        regions.clear();
        std::cout << "all were registered\n";
        return 0;
    } catch (const Error& error) {
        std::cout << error.what() << '\n';
        return 3;
    }
}

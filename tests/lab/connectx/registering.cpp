// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! In the guest: registers memory so many times, and says how far it came: registering DEVICE COUNT [pieces]
//!
//! With "pieces" it registers two halves first, makes a file "halves", waits for one "go", and then registers the
//! whole: with direct verbs by a key over the keys of these two.
#include <mrzone/host.hpp>
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

int main(int argc, char** argv)
{
    using namespace mrz;
    const bool pieces = argc == 4 && std::string_view{argv[3]} == "pieces";
    if (argc != 3 && !pieces)
        return 2;
    std::list<Region> regions;
    const auto pinned = [] { return host::locked_memory().pinned.value_or(0); };
    try {
        const test::Mapping memory{8_KiB, 0};
        const Domain domain = Domain::open(argv[1]);
        const std::uint64_t before = pinned();
        std::list<Region> halves;
        if (pieces) {
            halves.push_back(domain.register_memory(memory.bytes().first(4_KiB), Access::local_write));
            halves.push_back(domain.register_memory(memory.bytes().last(4_KiB), Access::local_write));
            std::ofstream{"halves"}.flush();
            // Who makes faults is on another machine, which tells by a file only. mrz-vm's time limit ends it all.
            while (!std::filesystem::exists("go"))
                std::this_thread::sleep_for(std::chrono::milliseconds{100});
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

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! In the guest: registers a page so many times with mlx5_0, and says how far it came: registering COUNT
#include <mrzone/region.hpp>

#include "support/mapping.hpp"

#include <cstdlib>
#include <iostream>
#include <list>

int main(int argc, char** argv)
{
    using namespace mrz;
    if (argc != 2)
        return 2;
    std::list<Region> regions;
    try {
        const test::Mapping memory{4_KiB, 0};
        const Domain domain = Domain::open("mlx5_0");
        for (int left = std::atoi(argv[1]); left > 0; --left)
            regions.push_back(domain.register_memory(memory.bytes(), Access::local_write));
        regions.clear();
        std::cout << "all were registered\n";
        return 0;
    } catch (const Error& error) {
        std::cout << regions.size() << " were registered\nerrno " << error.error_number() << '\n'
                  << error.what() << '\n';
        return 1;
    }
}

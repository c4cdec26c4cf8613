// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Attaches a window of the process that started it, and answers in the window itself. Not a test: attach.cpp runs
//! it.
//!
//! Arguments: address length page_size, then "offset length file file_offset" for each piece; the environment's
//! MRZ_FILES lists the descriptors. Exit status: 0, or the errno of Error, or 255.
#include <mrzone/hugepage.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <vector>

int main(int argc, char** argv)
try {
    std::vector<std::size_t> numbers;
    for (int i = 1; i < argc; ++i)
        numbers.push_back(std::strtoull(argv[i], nullptr, 0));
    mrz::WindowMap map{.address = numbers.at(0),
                       .length = numbers.at(1),
                       .header_length = mrz::Window::header_size,
                       .page_size = numbers.at(2)};
    for (std::size_t i = 3; i + 3 < numbers.size(); i += 4)
        map.pieces.push_back(
            {.offset = numbers[i], .length = numbers[i + 1], .file = numbers[i + 2], .file_offset = numbers[i + 3]});
    std::vector<mrz::FileDescriptor> files;
    std::istringstream list{std::getenv("MRZ_FILES")};
    for (int fd = 0; list >> fd;)
        files.emplace_back(fd);

    const mrz::Window window = mrz::Window::attach(map, std::move(files));
    // Each page holds its number; the answer is its complement.
    for (std::size_t page = 0; page < map.length / map.page_size; ++page) {
        std::byte& mark = window.address()[page * map.page_size];
        if (mark != std::byte(page + 1))
            return 255;
        mark = ~mark;
    }
    return 0;
} catch (const mrz::Error& error) {
    std::fprintf(stderr, "attach_peer: %s\n", error.what());
    return error.error_number();
} catch (const std::exception& error) {
    std::fprintf(stderr, "attach_peer: %s\n", error.what());
    return 255;
}

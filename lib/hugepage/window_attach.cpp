// SPDX-License-Identifier: BSD-3-Clause
#include "page_view.hpp"
#include "preflight.hpp"
#include "window_memory.hpp"

#include <mrzone/hugepage.hpp>

#include <bit>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>

namespace mrz {
namespace {

[[noreturn]] void refuse(std::string limit)
{
    throw Error{EINVAL,
                {.trouble = Trouble::invalid,
                 .what = "attaching a window of another process",
                 .limit = std::move(limit),
                 .remedy = "give the map and the files as the window that was built has them"}};
}

//! A map comes from another process: nothing in it may lead to memory that is not there (SIGBUS) or not the window's.
void check(const WindowMap& map, std::span<const FileDescriptor> files)
{
    constexpr std::size_t header = Window::header_size;
    if (!std::has_single_bit(map.page_size) || map.page_size < header || map.header_length != header ||
        map.length <= header || (map.length - header) % map.page_size != 0 || map.address % header != 0 ||
        (map.address + header) % map.page_size != 0 || map.address + map.length < map.address)
        refuse("its address, lengths and page size contradict each other");
    std::vector<struct stat> facts(files.size());
    for (std::size_t i = 0; i < files.size(); ++i)
        if (::fstat(files[i].get(), &facts[i]) != 0)
            refuse(std::string{"a file descriptor is not usable: "} + std::strerror(errno));
    std::size_t end = 0;
    for (const WindowMap::Piece& piece : map.pieces) {
        if (piece.offset != end || piece.length == 0 || piece.length > map.length - end || piece.file >= files.size())
            refuse("its pieces leave holes, overlap, or name a file that was not given");
        // For a hugetlb file, st_blksize is the page size.
        const auto page = static_cast<std::size_t>(facts[piece.file].st_blksize);
        const auto size = static_cast<std::size_t>(facts[piece.file].st_size);
        if (page < header || piece.length % page != 0 || piece.file_offset % page != 0 || piece.file_offset > size ||
            piece.length > size - piece.file_offset)
            refuse("a piece is not made of whole pages of its file");
        end += piece.length;
    }
    if (end != map.length)
        refuse("its pieces do not cover it");
}

} // namespace

Window Window::attach(const WindowMap& map, std::vector<FileDescriptor> files)
{
    check(map, files);
    hugepage::check_mappings(map.pieces.size() + 2);

    auto state = std::make_unique<State>();
    state->files = std::move(files);
    state->map = map;
    state->range = hugepage::AddressRange::at(map.address, map.length);
    for (const WindowMap::Piece& piece : map.pieces)
        hugepage::map_at(map.address + piece.offset, piece.length, state->files[piece.file].get(), piece.file_offset);
    hugepage::populate(map.address, map.length);

    const hugepage::WindowFrames frames = hugepage::frames_of_mapped(map);
    if (frames.known())
        describe(*state, frames.header.addresses, frames.block.addresses);
    else
        describe(*state, {}, {});
    return Window{std::move(state)};
}

} // namespace mrz

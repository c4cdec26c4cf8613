// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <algorithm>
#include <cerrno>
#include <span>

using namespace mrz::capi;

static_assert(MRZ_REMOTE_REGION_PACKED == mrz::RemoteRegion::packed_size);

namespace {

constexpr std::string_view struct_name = "mrz_remote_region";

mrz_remote_region to_c(const mrz::RemoteRegion& region) noexcept
{
    return {.struct_size = 0,
            .iova = region.iova.value(),
            .length = region.length,
            .rkey = {region.rkey.value},
            .access = static_cast<std::uint32_t>(region.access),
            .page_shift = region.page_shift.value(),
            .reserved = 0,
            .generation = region.generation};
}

mrz::RemoteRegion to_cpp(const mrz_remote_region* remote)
{
    const mrz_remote_region known = known_options(remote, struct_name);
    if (known.page_shift < mrz::PageShift::least || known.page_shift > mrz::PageShift::most)
        refuse("there is no page shift " + std::to_string(known.page_shift), "give 12 to 63");
    if (known.reserved != 0)
        refuse("the remote region has a reserved that is not 0", "set the whole struct to zero before its members");
    const mrz::Access access = checked_access(known.access);
    if (grants(access, mrz::Access::local_write))
        refuse("a remote region grants no local write", "give remote rights only");
    return {.iova = mrz::Iova{known.iova},
            .length = known.length,
            .rkey = {known.rkey.value},
            .access = access,
            .page_shift = mrz::PageShift{known.page_shift},
            .generation = known.generation};
}

} // namespace

int mrz_region_remote(const mrz_region* region, mrz_remote_region* remote)
{
    return guarded([&] {
        fill(remote, to_c(checked(region).remote()), struct_name);
        return 0;
    });
}

int mrz_region_reissue(mrz_region* region, mrz_remote_region* remote)
{
    return guarded([&] {
        // Once the old key is taken back there must be somewhere to put the new one.
        fill(remote, to_c(checked(region).remote()), struct_name);
        fill(remote, to_c(as_cpp(region)->reissue()), struct_name);
        return 0;
    });
}

int mrz_remote_region_pack(const mrz_remote_region* remote, void* bytes, size_t size)
{
    return guarded([&] {
        const auto packed = to_cpp(remote).pack();
        if (bytes == nullptr)
            refuse("the bytes are NULL", "give room for MRZ_REMOTE_REGION_PACKED bytes");
        if (size < packed.size())
            throw mrz::Error{ENOBUFS,
                             {.trouble = mrz::Trouble::invalid,
                              .what = "packing a remote region",
                              .limit = "room in bytes",
                              .present = size,
                              .need = packed.size(),
                              .remedy = "give room for MRZ_REMOTE_REGION_PACKED bytes"}};
        std::ranges::copy(packed, static_cast<std::byte*>(bytes));
        return static_cast<int>(packed.size());
    });
}

int mrz_remote_region_unpack(const void* bytes, size_t size, mrz_remote_region* remote)
{
    return guarded([&] {
        if (bytes == nullptr)
            refuse("the bytes are NULL", "give what the peer sent");
        fill(remote, to_c(mrz::RemoteRegion::unpack({static_cast<const std::byte*>(bytes), size})), struct_name);
        return 0;
    });
}

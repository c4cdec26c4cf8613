// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <algorithm>
#include <cerrno>
#include <span>

using namespace mrz::capi;

static_assert(MRZ_REMOTE_REGION_PACKED == mrz::RemoteRegion::packed_size);

namespace {

mrz::RemoteRegion to_cpp(const mrz_remote_region* remote)
{
    const mrz_remote_region known = known_options(remote, "mrz_remote_region");
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

void mrz::capi::fill(mrz_remote_region* out, const mrz::RemoteRegion& remote)
{
    fill(out,
         {.struct_size = 0,
          .iova = remote.iova.value(),
          .length = remote.length,
          .rkey = {remote.rkey.value},
          .access = static_cast<std::uint32_t>(remote.access),
          .page_shift = remote.page_shift.value(),
          .reserved = 0,
          .generation = remote.generation},
         "mrz_remote_region");
}

int mrz_region_remote(const mrz_region* region, mrz_remote_region* remote)
{
    return guarded([&] {
        fill(remote, checked(region).remote());
        return 0;
    });
}

int mrz_region_reissue(mrz_region* region, mrz_remote_region* remote)
{
    return guarded([&] {
        // Once the old key is taken back there must be somewhere to put the new one.
        fill(remote, checked(region).remote());
        fill(remote, as_cpp(region)->reissue());
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
        fill(remote, mrz::RemoteRegion::unpack({static_cast<const std::byte*>(bytes), size}));
        return 0;
    });
}

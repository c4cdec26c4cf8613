// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/mrzone.h>

#include "handles.hpp"

#include <mrzone/reader.hpp>

using namespace mrz::capi;

namespace {

//! What is behind a mrz_reader: inline look-ups see the part that it begins with.
struct Handle : mrz_reader {
    explicit Handle(mrz::Reader made) : mrz_reader{made.view()}, reader{std::move(made)} {}
    mrz::Reader reader;
};

mrz::Reader& reader_of(mrz_reader* reader) noexcept
{
    return static_cast<Handle*>(reader)->reader;
}

} // namespace

int mrz_reader_create(const mrz_domain* domain, uint32_t layout, mrz_reader** out)
{
    return hand_out(out, [&]() -> mrz_reader* { return new Handle{mrz::Reader{checked(domain), layout}}; });
}

void mrz_reader_quiescent(mrz_reader* reader)
{
    if (reader != nullptr)
        reader_of(reader).quiescent();
}

void mrz_reader_offline(mrz_reader* reader)
{
    if (reader != nullptr)
        reader_of(reader).offline();
}

void mrz_reader_online(mrz_reader* reader)
{
    if (reader != nullptr)
        reader_of(reader).online();
}

void mrz_reader_destroy(mrz_reader* reader)
{
    delete static_cast<Handle*>(reader);
}

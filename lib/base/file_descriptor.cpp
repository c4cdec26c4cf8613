// SPDX-License-Identifier: BSD-3-Clause
#include <mrzone/file_descriptor.hpp>

#include <unistd.h>

namespace mrz {

FileDescriptor::~FileDescriptor()
{
    if (fd_ >= 0)
        ::close(fd_);
}

} // namespace mrz

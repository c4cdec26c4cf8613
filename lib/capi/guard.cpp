// SPDX-License-Identifier: BSD-3-Clause
#include "guard.hpp"

#include <mrzone/base.hpp>
#include <mrzone/mrzone.h>

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace mrz::capi {
namespace {

// A fixed buffer: keeping the text of a failure must not itself need memory.
thread_local char last_error[1024] = "";

void keep(std::string_view text) noexcept
{
    const std::size_t length = text.copy(last_error, sizeof last_error - 1);
    last_error[length] = '\0';
}

} // namespace

int fail_with_current_exception() noexcept
{
    try {
        throw;
    } catch (const Error& error) {
        keep(error.what());
        return -error.error_number();
    } catch (const std::bad_alloc&) {
        keep("out of memory");
        return -ENOMEM;
    } catch (const std::exception& error) {
        keep(error.what());
        return -EIO;
    } catch (...) {
        keep("unknown failure");
        return -EIO;
    }
}

} // namespace mrz::capi

const char* mrz_last_error(void)
{
    return mrz::capi::last_error;
}

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Reading the kernel's files and folders. Private to this floor.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace mrz::host {

//! Hands a file's bytes to \p take, a chunk at a time in a buffer that stays, so that it works where no more memory
//! can be mapped. False if the file cannot be opened or read to its end.
bool read_in_chunks(const std::filesystem::path& file, const std::function<void(std::string_view)>& take);
//! The same, until \p take returns false: it has seen enough.
bool read_in_chunks_while(const std::filesystem::path& file, const std::function<bool(std::string_view)>& take);
//! Whether there is certainly no such file: not merely one that cannot be read.
bool is_missing(const std::filesystem::path& file);

} // namespace mrz::host

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Regions that look-ups are measured on.
#pragma once

namespace bench {

//! Deregisters what the subjects of look-up share.
void release_lookups() noexcept;

} // namespace bench

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! libmlx5's calls for umems and keys, answered without a device: what there is now, in what order it goes, and
//! faults.
//!
//! They take the place of the library's, since a program's own functions go before those of shared libraries.
#pragma once

#include <verbs/context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

namespace mrz::mlx5::test {

struct FakeUmem {
    std::uint32_t number = 0;
    std::span<std::byte> memory;
    bool writable = false;
    std::uint64_t page_sizes = 0; //!< That the kernel was offered, a bit each.
};

struct FakeKey {
    std::uint32_t index = 0;
    std::vector<std::byte> command;
    std::set<const FakeUmem*> umems; //!< That it is over.
    std::set<const FakeKey*> below;
};

//! What a call is.
enum class Call { umem, key, end_of_key };

//! The one fake. Empty at the beginning of each test, and to be empty at its end.
struct Fake {
    std::mutex mutex;
    std::set<const FakeUmem*> umems;
    std::set<const FakeKey*> keys;
    unsigned calls = 0;        //!< To make umems and keys.
    std::uint32_t numbers = 0; //!< That were given out.
    unsigned wrong_order = 0;  //!< Ends of what was still in use.
    //! An errno for a call, or 0. Called with the mutex held.
    std::function<int(Call call)> fault = {};
};
Fake& fake();

//! Where a byte in a key's space is, as a device finds it by the commands that made the key, those below it and the
//! umem; null where no byte is. Fails the test where a device would refuse the key.
std::byte* reach(std::uint32_t key, std::uint64_t iova);

//! A device's context, as far as memory goes.
std::shared_ptr<verbs::Context> fake_context();

} // namespace mrz::mlx5::test

// SPDX-License-Identifier: BSD-3-Clause
#include "key_search.hpp"

namespace mrz::testpmd {

KeySearch::KeySearch(std::vector<KeyedMemory> memory) : memory_{std::move(memory)}
{
    std::ranges::sort(memory_, {}, &KeyedMemory::address);
}

} // namespace mrz::testpmd

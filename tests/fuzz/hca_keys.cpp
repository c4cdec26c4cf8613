// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Key tables and translation under arbitrary commands: accounts stay right, and translation is what going byte by
//! byte finds.
#include "input.hpp"

#include "../unit/hca/plain_translation.hpp"

#include <hca/cache.hpp>
#include <hca/key_table.hpp>
#include <hca/translate.hpp>

#include <utility>
#include <vector>

using namespace mrz;
using namespace mrz::hca;
using mrz::fuzz::Input;

namespace {

constexpr KeyLimits limits{.keys = 12, .translations = 64, .max_page_shift = 63, .max_nesting = 3};

class Target {
  public:
    explicit Target(Input input) : input_{input} {}

    void run()
    {
        while (!input_.empty()) {
            try {
                command();
            } catch (const Error&) {
                // A refusal; what it must leave alone is checked below.
            }
            check_accounts();
        }
    }

  private:
    Mkey some_key()
    {
        return input_.byte() % 16 == 0 ? Mkey{static_cast<std::uint32_t>(input_.number(4))}
                                       : keys_[input_.below(keys_.size())];
    }

    MkeySpec some_spec()
    {
        MkeySpec spec;
        spec.mode = static_cast<KeyMode>(input_.byte() % 5);
        spec.pd = Pd{input_.byte() % 4U / 3U};
        spec.every_pd = input_.byte() % 8 == 0;
        const std::uint8_t rights = input_.byte();
        spec.rights = static_cast<KeyRights>(rights % 4 == 0 ? rights >> 2 & 31 : 31);
        spec.start = Iova{input_.address()};
        spec.length = input_.address();
        spec.page_shift = input_.byte() % 4 == 0 ? input_.byte() % 80 : 12;
        if (input_.byte() % 8 == 0)
            spec.page_offset = input_.address();
        const unsigned count = input_.byte() % 20;
        for (unsigned i = 0; i < count; ++i) {
            if (spec.mode == KeyMode::mtt || input_.byte() % 64 == 1) {
                const unsigned shift = spec.page_shift < 64 ? spec.page_shift : 0;
                spec.pages.emplace_back(input_.byte() % 64 == 1 ? input_.address() : input_.number(1) << shift);
            } else {
                const Mkey key = some_key();
                const Iova iova{input_.address()};
                spec.entries.push_back({key, iova, input_.address()});
            }
        }
        if (input_.byte() % 2 == 0)
            spec.variant = input_.byte();
        return spec;
    }

    void command()
    {
        switch (input_.byte() % 10) {
        case 0:
        case 1:
            keys_.push_back(table_.create(some_spec()));
            break;
        case 2:
            keys_.push_back(table_.create_free(Pd{0}, input_.byte()));
            break;
        case 3:
            table_.destroy(some_key());
            break;
        case 4: {
            const Mkey key = some_key();
            const std::uint8_t variant = input_.byte();
            keys_.push_back(table_.reissue(key, variant));
            break;
        }
        case 5:
            table_.invalidate(some_key());
            break;
        case 6: {
            const Mkey key = some_key();
            keys_.push_back(table_.fill(key, some_spec()));
            break;
        }
        default:
            use();
        }
    }

    void use()
    {
        const Mkey key = some_key();
        const MkeyRecord* const record = table_.find(index_of(key));
        std::uint64_t at = input_.address();
        if (record != nullptr && input_.byte() % 4 != 0)
            at += record->info.start.value();
        const std::uint64_t length = input_.byte() % 8 == 0 ? input_.address() : input_.number(1);
        const KeyUse use{key, Iova{at}, length, static_cast<KeyRights>(1U << input_.byte() % 5),
                         Pd{input_.byte() % 8 / 7U}};
        std::vector<DmaSegment> segments;
        const Violation violation = translator_.translate(use, segments);
        fuzz::require(violation == Violation::none || segments.empty());
        std::uint64_t total = 0;
        for (const DmaSegment& segment : segments)
            total += segment.length;
        fuzz::require(violation != Violation::none || total == length);
        if (length <= 2000) {
            const PlainTranslation plain = translate_plainly(table_, use);
            fuzz::require((violation == Violation::none) == plain.granted);
            fuzz::require(segments == plain.segments);
        }
    }

    void check_accounts()
    {
        std::uint64_t entries = 0;
        std::size_t count = 0;
        for (std::uint32_t index = 0; index <= limits.keys; ++index) {
            if (const MkeyRecord* const record = table_.find(index)) {
                ++count;
                entries += record->pages.size() + record->entries.size();
            }
        }
        fuzz::require(count == table_.size() && count <= limits.keys);
        fuzz::require(entries == table_.translations() && entries <= limits.translations);
    }

    Input input_;
    KeyTable table_{limits};
    Cache mpt_cache_{{2, 2}};
    Cache mtt_cache_{{4, 2}};
    Translator translator_{table_, mpt_cache_, mtt_cache_};
    std::vector<Mkey> keys_{Mkey{0}};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    Target{{data, size}}.run();
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "firmware/umems.hpp"

#include "layouts/memory.hpp"

#include <mrzone/base.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mrz::firmware {

namespace {

using layouts::get;

// A page size is told as its logarithm less that of the adapter's own pages.
constexpr unsigned adapter_page_shift = 12;
// drivers/infiniband/hw/mlx5/mlx5_ib.h, MLX5_IB_MTT_READ and MLX5_IB_MTT_WRITE
constexpr std::uint64_t mtt_read = 1;
constexpr std::uint64_t mtt_write = 2;
constexpr std::uint64_t mtt_flags = 0xff;

} // namespace

void Umem::end()
{
    all_.pages_ -= pages_.pages().size();
}

Umems::Umems(const Context& context) : context_{context}
{
    context_.objects.limit(Kind::umem, 1, (1U << context_.settings.log_max_umem) - 1);
}

void Umems::add_to(Commands& commands)
{
    commands.add({0xa08, "CREATE_UMEM", 32, 16, [this](const Command& command) { create(command); }});
    commands.add({0xa0a, "DESTROY_UMEM", 16, 16, [this](const Command& command) {
                      context_.objects.destroy(
                          Kind::umem, static_cast<std::uint32_t>(get(command.in, layouts::destroy_umem_in::umem_id)),
                          command.uid);
                  }});
}

void Umems::create(const Command& command)
{
    namespace umem = layouts::umem;
    const auto in = part(command.in, layouts::create_umem_in::umem);
    const auto mtt = part(in, umem::mtt);
    const std::uint64_t count = get(in, umem::num_of_mtt);
    const auto shift = adapter_page_shift + static_cast<unsigned>(get(in, umem::log_page_size));
    if (get(in, umem::ats) != 0)
        throw Refusal{Status::bad_param, "this device has no translation services"};
    if (count == 0)
        throw Refusal{Status::bad_param, "a umem has pages"};
    if (count > mtt.size() / 8)
        throw Refusal{Status::bad_inp_len, "there are fewer pages than " + std::to_string(count)};
    const std::uint64_t most = context_.engine.options().keys.translations;
    if (count > most - pages_)
        throw Refusal{Status::no_res, "all umems would have " + std::to_string(pages_ + count) +
                                          " pages, and there may be " + std::to_string(most)};
    bool writable = true;
    std::vector<DmaAddress> pages;
    pages.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t entry = get(mtt.subspan(8 * i, 8), {0, 64});
        const DmaAddress page{entry & ~mtt_flags};
        if (page.value() % (1ULL << shift) != 0)
            throw Refusal{Status::bad_param,
                          format_hex(page.value()) + " is no page of " + format_size(1ULL << shift)};
        if ((entry & mtt_read) == 0)
            throw Refusal{Status::bad_param, "the page " + format_hex(page.value()) + " may not be read"};
        writable = writable && (entry & mtt_write) != 0;
        pages.push_back(page);
    }
    const std::uint32_t number = context_.objects.vacant(Kind::umem);
    context_.objects.add(std::make_shared<Umem>(
        *this, number, command.uid, dma::PageList{std::move(pages), shift, get(in, umem::page_offset)}, writable));
    pages_ += count;
    set(command.out, layouts::create_umem_out::umem_id, number);
}

} // namespace mrz::firmware

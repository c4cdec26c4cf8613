// SPDX-License-Identifier: BSD-3-Clause
#include "fake_mlx5.hpp"

#include <layouts/memory.hpp>
#include <layouts/wqe.hpp>

#include <mrzone/host.hpp>

#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <optional>

struct mlx5dv_devx_obj {
    mrz::mlx5::test::FakeKey key;
};

namespace mrz::mlx5::test {
namespace {

namespace in = layouts::create_mkey_in;
namespace mkc = layouts::mkc;

struct Umem final : mlx5dv_devx_umem {
    FakeUmem shown;
};

constexpr std::uint64_t mode_mtt = 1;
constexpr std::uint64_t mode_ksm = 3;

template <class Of>
const Of* find(const std::set<const Of*>& all, std::uint32_t Of::*number, std::uint64_t wanted)
{
    const auto at = std::ranges::find_if(all, [&](const Of* one) { return one->*number == wanted; });
    return at == all.end() ? nullptr : *at;
}

//! \p shift is of KSM entries, which lie at multiples of their length.
std::byte* reach_below(std::span<const std::byte> list, std::uint64_t start, std::uint64_t iova,
                       std::optional<std::uint64_t> shift)
{
    const auto get = [&](std::uint64_t entry, layouts::Field field) {
        return layouts::get(list.subspan(entry * layouts::klm::bytes, layouts::klm::bytes), field);
    };
    const auto go_on = [&](std::uint64_t entry, std::uint64_t offset) {
        return reach(static_cast<std::uint32_t>(get(entry, layouts::klm::key)),
                     get(entry, layouts::klm::va) + offset);
    };
    if (shift)
        return go_on((iova >> *shift) - (start >> *shift), iova % (std::uint64_t{1} << *shift));
    std::uint64_t left = iova - start;
    for (std::uint64_t entry = 0; entry * layouts::klm::bytes < list.size(); ++entry) {
        const std::uint64_t length = get(entry, layouts::klm::bcount);
        if (left < length)
            return go_on(entry, left);
        left -= length;
    }
    return nullptr;
}

bool is_writable(std::span<const std::byte> memory)
{
    const auto mappings = host::mapped_memory(memory.data(), memory.size());
    return mappings && std::ranges::all_of(*mappings, &host::MappedMemory::writable);
}

int fault_of(Call call)
{
    if (call != Call::end_of_key)
        ++fake().calls;
    return fake().fault ? fake().fault(call) : 0;
}

//! What a key is over; an errno if that is not there.
int read_below(FakeKey& key)
{
    const std::span<const std::byte> command{key.command};
    const auto context = layouts::part(command, in::memory_key_mkey_entry);
    if (layouts::get(context, mkc::access_mode_1_0) == mode_mtt) {
        const FakeUmem* const umem = find(fake().umems, &FakeUmem::number, layouts::get(command, in::mkey_umem_id));
        const std::uint64_t end = layouts::get(command, in::mkey_umem_offset) + layouts::get(context, mkc::len);
        const bool writes = layouts::is_set(context, mkc::lw) || layouts::is_set(context, mkc::rw);
        if (umem == nullptr || end > umem->memory.size() || (writes && !umem->writable))
            return EREMOTEIO;
        key.umems.insert(umem);
        return 0;
    }
    const auto list = layouts::part(command, in::klm_pas_mtt);
    for (std::size_t at = 0; at < list.size(); at += layouts::klm::bytes) {
        const auto entry = list.subspan(at, layouts::klm::bytes);
        const std::uint64_t value = layouts::get(entry, layouts::klm::key);
        if (value == 0) // of the fours that lists are filled up to
            continue;
        const FakeKey* const below = find(fake().keys, &FakeKey::index, value >> 8);
        if (below == nullptr)
            return EREMOTEIO;
        key.below.insert(below);
    }
    return 0;
}

bool is_in_use(const FakeKey* key)
{
    return std::ranges::any_of(fake().keys, [&](const FakeKey* other) { return other->below.contains(key); });
}
bool is_in_use(const FakeUmem* umem)
{
    return std::ranges::any_of(fake().keys, [&](const FakeKey* key) { return key->umems.contains(umem); });
}

int query_device(ibv_context* /*context*/, const ibv_query_device_ex_input* /*input*/, ibv_device_attr_ex* attributes,
                 std::size_t /*size*/)
{
    *attributes = {};
    attributes->orig_attr.max_mr = 1000;
    attributes->orig_attr.max_qp_wr = 100;
    return 0;
}

} // namespace

Fake& fake()
{
    static Fake the_fake;
    return the_fake;
}

std::byte* reach(std::uint32_t key, std::uint64_t iova)
{
    const FakeKey* const found = find(fake().keys, &FakeKey::index, key >> 8);
    if (found == nullptr)
        return nullptr;
    const std::span<const std::byte> command{found->command};
    const auto context = layouts::part(command, in::memory_key_mkey_entry);
    const auto get = [&](layouts::Field field) { return layouts::get(context, field); };
    const std::uint64_t start = get(mkc::start_addr);
    if (layouts::is_set(context, mkc::free) || get(mkc::mkey_7_0) != (key & 0xff) || iova < start ||
        iova - start >= get(mkc::len))
        return nullptr;
    if (const std::uint64_t mode = get(mkc::access_mode_1_0); mode != mode_mtt)
        return reach_below(layouts::part(command, in::klm_pas_mtt), start, iova,
                           mode == mode_ksm ? std::optional{get(mkc::log_page_size)} : std::nullopt);
    const FakeUmem& umem = **found->umems.begin();
    const std::uint64_t page = std::bit_floor(umem.page_sizes);
    const std::uint64_t offset = layouts::get(command, in::mkey_umem_offset);
    const auto address = reinterpret_cast<std::uintptr_t>(umem.memory.data());
    // Pages of more than 4 KiB begin where the umem does.
    const std::uint64_t place = (page == 4096 ? address % page : 0) + offset;
    EXPECT_EQ(start % page, place % page) << "the key and its umem disagree";
    return umem.memory.data() + offset + (iova - start);
}

std::shared_ptr<verbs::Context> fake_context()
{
    static ibv_device device = [] {
        ibv_device made{};
        std::snprintf(made.name, sizeof made.name, "mlx5_fake");
        return made;
    }();
    static verbs_context context = [] {
        verbs_context made{};
        made.context.device = &device;
        made.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        made.sz = sizeof made;
        made.query_device_ex = query_device;
        return made;
    }();
    return verbs::Context::adopt(&context.context);
}

} // namespace mrz::mlx5::test

using namespace mrz::mlx5::test;
namespace layouts = mrz::layouts;

mlx5dv_devx_umem* mlx5dv_devx_umem_reg_ex(ibv_context* /*context*/, mlx5dv_devx_umem_in* umem_in)
{
    const std::scoped_lock guard{fake().mutex};
    const std::span<std::byte> memory{static_cast<std::byte*>(umem_in->addr), umem_in->size};
    const bool writes = (umem_in->access & IBV_ACCESS_LOCAL_WRITE) != 0;
    if (const int error = fault_of(Call::umem); error != 0) {
        errno = error;
        return nullptr;
    }
    if (writes && !is_writable(memory)) {
        errno = EFAULT;
        return nullptr;
    }
    auto* const umem = new Umem{};
    umem->umem_id = ++fake().numbers;
    umem->shown = {.number = umem->umem_id, .memory = memory, .writable = writes, .page_sizes = umem_in->pgsz_bitmap};
    fake().umems.insert(&umem->shown);
    return umem;
}

int mlx5dv_devx_umem_dereg(mlx5dv_devx_umem* umem)
{
    const std::scoped_lock guard{fake().mutex};
    auto* const ours = static_cast<Umem*>(umem);
    if (is_in_use(&ours->shown)) {
        ++fake().wrong_order;
        return EBUSY;
    }
    fake().umems.erase(&ours->shown);
    delete ours;
    return 0;
}

mlx5dv_devx_obj* mlx5dv_devx_obj_create(ibv_context* /*context*/, const void* in, size_t inlen, void* out,
                                        size_t outlen)
{
    const std::scoped_lock guard{fake().mutex};
    if (const int error = fault_of(Call::key); error != 0) {
        errno = error;
        return nullptr;
    }
    auto* const object = new mlx5dv_devx_obj{};
    const auto* const command = static_cast<const std::byte*>(in);
    object->key.command.assign(command, command + inlen);
    object->key.index = ++fake().numbers;
    if (const int error = read_below(object->key); error != 0) {
        delete object;
        errno = error;
        return nullptr;
    }
    fake().keys.insert(&object->key);
    layouts::set(std::span{static_cast<std::byte*>(out), outlen}, layouts::create_mkey_out::mkey_index,
                 object->key.index);
    return object;
}

int mlx5dv_devx_obj_destroy(mlx5dv_devx_obj* obj)
{
    const std::scoped_lock guard{fake().mutex};
    if (is_in_use(&obj->key)) {
        ++fake().wrong_order;
        return EBUSY;
    }
    if (const int error = fault_of(Call::end_of_key); error != 0)
        return error;
    fake().keys.erase(&obj->key);
    delete obj;
    return 0;
}

int mlx5dv_devx_obj_query(mlx5dv_devx_obj* obj, const void* /*in*/, size_t /*inlen*/, void* out, size_t outlen)
{
    const std::scoped_lock guard{fake().mutex};
    std::ranges::copy(
        layouts::part(std::span<const std::byte>{obj->key.command}, layouts::create_mkey_in::memory_key_mkey_entry),
        layouts::part(std::span{static_cast<std::byte*>(out), outlen}, layouts::query_mkey_out::memory_key_mkey_entry)
            .begin());
    return 0;
}

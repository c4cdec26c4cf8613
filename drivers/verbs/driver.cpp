// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! libibverbs as a driver: every RDMA device of the kernel.
#include "device.hpp"

#include <mrzone/device.hpp>

namespace mrz::verbs {
namespace {

std::vector<std::string> list()
{
    return device_names();
}

std::shared_ptr<Device> open(std::string_view device)
{
    return make_device(Context::open(device));
}

std::shared_ptr<Device> adopt(ibv_pd* pd)
{
    return make_device(Context::adopt(pd->context), pd);
}

} // namespace

Driver driver(); // as the table of drivers declares it

Driver driver()
{
    return {.name = "verbs", .list = list, .open = open, .adopt = adopt};
}

} // namespace mrz::verbs

// SPDX-License-Identifier: BSD-3-Clause
#include "vfio_user/server.hpp"

#include <exception>
#include <utility>

namespace mrz::vfio_user {

Server::Server(std::string path, Served served) : listener_{std::move(path)}, served_{std::move(served)} {}

void Server::run(const sockets::Stop& stop)
{
    while (std::optional<FileDescriptor> client = listener_.accept(stop)) {
        serve(std::move(*client), stop);
        served_.device.reset();
        served_.exclusively([this] { served_.memory.unmap_all(); });
        served_.vectors.ignore_all();
    }
}

void Server::serve(FileDescriptor client, const sockets::Stop& stop)
{
    log(Severity::info, "a client came");
    Connection connection{std::move(client), stop};
    try {
        Session{connection, served_}.run();
        log(Severity::info, "the client has gone");
    } catch (const std::exception& error) { // what it broke, or for want of memory
        log(Severity::error, std::string{"a client has to go: "} + error.what());
    }
}

} // namespace mrz::vfio_user

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! The device at a socket, for virtual machines.
#pragma once

#include "sockets/listener.hpp"
#include "vfio_user/session.hpp"

#include <string>

namespace mrz::vfio_user {

//! Serves one client at a time, and the next one afterwards: a virtual machine that starts again finds the device as
//! after power-on.
class Server {
  public:
    //! Listens from now on. Throws as sockets::Listener. What \p served refers to outlives this.
    Server(std::string path, Served served);

    [[nodiscard]] const std::string& path() const noexcept { return listener_.path(); }
    //! Until \p stop is set; then nothing of the guest is mapped any more. Called once, by the thread that is to be
    //! the transport's.
    void run(const sockets::Stop& stop);

  private:
    void serve(FileDescriptor client, const sockets::Stop& stop);

    sockets::Listener listener_;
    Served served_;
};

} // namespace mrz::vfio_user

// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! A DPDK external heap, owned.
#pragma once

#include <mrzone/hugepage.hpp>

#include <cstddef>
#include <string>

namespace mrz {

//! Makes the heap, or joins the primary's. What is added must be removed before the Heap goes; see leave().
class Heap {
  public:
    enum class Role {
        owner, //!< Creates the heap; adds, removes and at last destroys it.
        guest, //!< In a secondary: attaches and detaches memory of the primary's heap.
    };
    Heap(std::string name, Role role);
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;
    ~Heap();

    void add(const Window& window);
    //! Throws Error (busy) if something lives in the window; then the window is still part of the heap.
    void remove(const Window& window);
    //! Lets the heap live on in DPDK, because its memory is in use.
    void leave() noexcept { left_ = true; }

    [[nodiscard]] int socket_id() const noexcept { return socket_id_; }
    //! Whether the application has called rte_eal_cleanup() meanwhile: then nothing of DPDK may be touched any more.
    [[nodiscard]] bool eal_is_gone() const noexcept;
    //! Allocations that live in it.
    [[nodiscard]] unsigned allocations() const;

  private:
    std::string name_;
    Role role_;
    int socket_id_ = -1;
    bool left_ = false;
    const void* memory_list_ = nullptr; //!< In the EAL's own memory, which rte_eal_cleanup() unmaps.
};

} // namespace mrz

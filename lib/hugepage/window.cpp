// SPDX-License-Identifier: BSD-3-Clause
#include "window_memory.hpp"

#include <mrzone/hugepage.hpp>

#include <mutex>

namespace mrz {

Window::Window(std::unique_ptr<State> state) noexcept : state_{std::move(state)} {}
Window::Window(Window&&) noexcept = default;

Window& Window::operator=(Window&& other) noexcept
{
    if (this != &other) {
        const Window old{std::move(*this)}; // Its destructor knows what an abandoned one needs.
        state_ = std::move(other.state_);
    }
    return *this;
}

Window::~Window()
{
    if (!state_ || !state_->abandoned)
        return;
    // Still reachable, so that no leak is seen where none is meant.
    static std::mutex mutex;
    static State* kept = nullptr;
    const std::lock_guard lock{mutex};
    state_->next.reset(kept);
    kept = state_.release();
}

std::byte* Window::address() const noexcept
{
    return reinterpret_cast<std::byte*>(state_->map.address);
}

std::size_t Window::length() const noexcept
{
    return state_->map.length;
}

std::span<std::byte> Window::block() const noexcept
{
    return {address() + state_->map.header_length, length() - state_->map.header_length};
}

const WindowMap& Window::map() const noexcept
{
    return state_->map;
}

std::span<const FileDescriptor> Window::files() const noexcept
{
    return state_->files;
}

bool Window::frames_known() const noexcept
{
    return state_->frames_known;
}

const Layout& Window::layout() const noexcept
{
    return state_->layout;
}

std::span<const DmaAddress> Window::frames() const noexcept
{
    return state_->frames;
}

Plan Window::plan(const Limits& limits) const
{
    return make_optimal_plan(layout(), {.iova = Iova{reinterpret_cast<std::uintptr_t>(block().data())}}, limits);
}

Plan Window::plan(const Limits& limits, PlanOptions options) const
{
    options.iova = Iova{reinterpret_cast<std::uintptr_t>(block().data())};
    return make_optimal_plan(layout(), options, limits);
}

const BuildPhases& Window::phases() const noexcept
{
    return state_->phases;
}

void Window::look_again()
{
    const hugepage::WindowFrames now = hugepage::frames_of_mapped(state_->map);
    if (now.known())
        hugepage::describe(*state_, now.header.addresses, now.block.addresses);
    else
        hugepage::describe(*state_, {}, {});
}

void Window::abandon() noexcept
{
    if (state_)
        state_->abandoned = true;
}

} // namespace mrz

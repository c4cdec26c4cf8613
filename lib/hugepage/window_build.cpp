// SPDX-License-Identifier: BSD-3-Clause
#include "page_files.hpp"
#include "page_nodes.hpp"
#include "page_taker.hpp"
#include "page_view.hpp"
#include "pool_sort.hpp"
#include "preflight.hpp"
#include "window_memory.hpp"

#include <mrzone/hugepage.hpp>

#include <algorithm>
#include <numeric>
#include <thread>

#include <unistd.h>

namespace mrz {
namespace hugepage {
namespace {

using Clock = std::chrono::steady_clock;

//! Adds the time until it goes to one phase.
class Stopwatch {
  public:
    explicit Stopwatch(std::chrono::nanoseconds& phase) : phase_{phase} {}
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch() { phase_ += Clock::now() - start_; }

  private:
    std::chrono::nanoseconds& phase_;
    Clock::time_point start_ = Clock::now();
};

std::size_t thread_count(const WindowOptions& options, std::uint64_t pages)
{
    std::size_t threads = options.threads;
    if (threads == 0)
        threads = std::clamp<std::size_t>(
            options.size / 1_GiB, 1,
            std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, Window::most_threads));
    return std::min<std::size_t>(threads, pages);
}

//! The least that any memory would cost for this block.
std::uint64_t lowest_cost(const WindowOptions& options)
{
    Layout ideal;
    ideal.append(DmaAddress{0}, options.size);
    PlanOptions plan = options.plan;
    plan.iova = Iova{0};
    return make_optimal_plan(ideal, plan, options.limits).cost();
}

//! Which pages, in which order, at which kind of address.
struct Choice {
    std::vector<PageAt> pages;      // Header and block, in virtual order.
    std::vector<DmaAddress> frames; // Of `pages`; empty if hidden.
    std::vector<PageAt> surplus;    // In the order to give back.
    PageShift modulus{21};
    std::uint64_t residue = 0;
    std::uint64_t cost = 0;
};

class Builder {
  public:
    explicit Builder(const WindowOptions& options)
        : options_{options}, needs_{needs_of(options)}, lowest_{lowest_cost(options)}, meter_{options.progress}
    {
        const std::size_t threads = thread_count(options, needs_[0].pages);
        for (const PageNeed& need : needs_)
            check_pages(need, options.node);
        check_mappings(needs_.size() + threads + 2);
        check_file_size((needs_[0].pages + threads - 1) / threads * needs_[0].page_size);
        files_.reserve(needs_.size());
        files_.emplace_back(needs_[0].page_size, threads);
        if (has_own_header())
            files_.emplace_back(needs_[1].page_size, 1);
    }

    void build(WindowMemory& memory)
    {
        phases_ = &memory.phases;
        take();
        choose();
        look_further();
        if (!mappings_allow())
            take_sorted();
        AddressRange range = arrange(memory);
        give_back_surplus();
        memory.give_back = give_back_order();
        for (PageFiles& files : files_)
            files.hand_over(memory.files);
        memory.range = std::move(range);
        memory.owner = ::getpid();
    }

  private:
    //! Whether the header's page comes from another pool than the block's.
    [[nodiscard]] bool has_own_header() const noexcept { return needs_.size() > 1; }
    [[nodiscard]] PageFiles& block_files() noexcept { return files_[0]; }
    [[nodiscard]] std::size_t block_pages() const noexcept { return options_.size / options_.page_size; }

    void take()
    {
        const Stopwatch watch{phases_->take};
        for (std::size_t i = 0; i < needs_.size(); ++i)
            if (const int error = take_pages(files_[i], needs_[i].pages, options_.node, meter_))
                throw taking_failed(error,
                                    {.page_size = needs_[i].page_size, .pages = needs_[i].pages - files_[i].pages()},
                                    options_.node);
    }

    void choose()
    {
        Frames frames;
        Frames header;
        {
            const Stopwatch watch{phases_->frames};
            frames = frames_of(block_files(), options_.node);
            if (has_own_header())
                header = frames_of(files_[1], options_.node);
        }
        const Stopwatch watch{phases_->place};
        const std::vector<PageAt> pages = block_files().list(0);
        choice_ = {};
        if (has_own_header()) {
            choice_.pages = files_[1].list(block_files().files().size());
            choice_.frames = header.addresses;
        }
        if (!frames.complete() || (has_own_header() && !header.complete()))
            choose_blindly(pages);
        else
            choose_by_frames(pages, frames.addresses);
    }

    //! As they come: the first page is the header, so that one file is one mapping.
    void choose_blindly(const std::vector<PageAt>& pages)
    {
        log_once(Severity::warning,
                 "the frames of hugepages are hidden from this process (CAP_SYS_ADMIN is needed to read them): pages "
                 "lie as they come, and a key may need one entry a page; run as root, or: setcap cap_sys_admin+ep "
                 "PROGRAM");
        choice_.frames.clear();
        choice_.modulus = PageShift::of(options_.page_size);
        choice_.pages.insert(choice_.pages.end(), pages.begin(), pages.end());
    }

    void choose_by_frames(const std::vector<PageAt>& pages, std::span<const DmaAddress> frames)
    {
        Placement placement =
            place(frames, PageShift::of(options_.page_size), block_pages(), options_.plan, options_.limits);
        choice_.modulus = placement.modulus;
        choice_.residue = placement.residue;
        choice_.cost = placement.cost;
        if (!has_own_header()) {
            // The nearest to the block, so that what goes back stays in one piece.
            const std::uint64_t first = frames[placement.order.front()].value();
            const auto distance = [&](std::size_t i) {
                const std::uint64_t at = frames[i].value();
                return at > first ? at - first : first - at;
            };
            const auto nearest =
                std::min_element(placement.surplus.begin(), placement.surplus.end(),
                                 [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
            choice_.pages.push_back(pages[*nearest]);
            choice_.frames.push_back(frames[*nearest]);
            placement.surplus.erase(nearest);
        }
        for (const std::size_t i : placement.order) {
            choice_.pages.push_back(pages[i]);
            choice_.frames.push_back(frames[i]);
        }
        for (const std::size_t i : placement.surplus)
            choice_.surplus.push_back(pages[i]);
    }

    //! Takes more pages, and twice as many each time, while a better placement is thinkable. A build that has what it
    //! needs never fails for want of more.
    void look_further()
    {
        if (choice_.frames.empty() || choice_.cost <= lowest_)
            return;
        std::uint64_t budget =
            options_.surplus.pages(block_pages(), spare_pages(options_.page_size, options_.node), options_.page_size);
        for (std::uint64_t step = std::max<std::uint64_t>(budget / 8, 1);
             budget > 0 && !choice_.frames.empty() && choice_.cost > lowest_; step *= 2) {
            const std::uint64_t more = std::min({step, budget, spare_pages(options_.page_size, options_.node)});
            if (more == 0)
                return;
            int error = 0;
            {
                const Stopwatch watch{phases_->take};
                error = take_pages(block_files(), more, options_.node, meter_);
            }
            choose();
            if (error != 0)
                return;
            budget -= more;
        }
    }

    //! Whether the choice needs no more mappings than this process may still have.
    [[nodiscard]] bool mappings_allow() const
    {
        try {
            check_mappings(pieces().size() + 2);
            return true;
        } catch (const Error&) {
            return false;
        }
    }

    //! As many pages again, of a pool in order: they come in ascending order into one file.
    void take_sorted()
    {
        if (choice_.frames.empty())
            return;
        log(Severity::info, "the pages for a window of " + format_size(options_.size) + " would need " +
                                std::to_string(pieces().size()) +
                                " mappings, more than vm.max_map_count allows: the pool is sorted first");
        const std::uint64_t pages = block_files().pages();
        check_file_size(pages * options_.page_size);
        const Stopwatch watch{phases_->take};
        PageFiles held = std::exchange(files_[0], PageFiles{options_.page_size, 1});
        sort_pool(std::move(held), options_.node, meter_);
        if (const int error = take_pages(block_files(), pages, options_.node, meter_);
            error != 0 && block_files().pages() < needs_[0].pages)
            throw taking_failed(error,
                                {.page_size = options_.page_size, .pages = needs_[0].pages - block_files().pages()},
                                options_.node);
        choose();
    }

    //! Maps the choice, and again if the kernel moved pages meanwhile and that made it worse.
    AddressRange arrange(WindowMemory& memory)
    {
        constexpr int attempts = 3;
        for (int attempt = 1;; ++attempt) {
            AddressRange range = map(memory.map);
            if (choice_.frames.empty()) {
                describe(memory, {}, {});
                return range;
            }
            if (options_.node)
                check_nodes_of(memory.map);
            const WindowFrames now = frames_of_mapped(memory.map);
            if (!now.known()) {
                describe(memory, {}, {});
                return range;
            }
            describe(memory, now.header.addresses, now.block.addresses);
            const Iova iova{memory.map.address + memory.map.header_length};
            const bool worse =
                !std::equal(choice_.frames.begin() + 1, choice_.frames.end(), now.block.addresses.begin()) &&
                cost_at(memory.layout, iova) > choice_.cost;
            if (!worse || attempt == attempts) {
                choice_.frames = now.header.addresses;
                choice_.frames.insert(choice_.frames.end(), now.block.addresses.begin(), now.block.addresses.end());
                return range;
            }
            range = {};
            choose();
        }
    }

    AddressRange map(WindowMap& map)
    {
        const Stopwatch watch{phases_->map};
        map = {.length = Window::header_size + options_.size,
               .header_length = Window::header_size,
               .page_size = options_.page_size,
               .node = options_.node};
        map.pieces = pieces();
        check_mappings(map.pieces.size() + 2);
        AddressRange range = addresses();
        map.address = range.begin();
        for (const WindowMap::Piece& piece : map.pieces)
            map_at(map.address + piece.offset, piece.length, descriptor(piece.file), piece.file_offset);
        populate(map.address, map.length);
        return range;
    }

    [[nodiscard]] std::vector<WindowMap::Piece> pieces() const
    {
        std::vector<WindowMap::Piece> pieces;
        std::size_t offset = 0;
        for (const PageAt& page : choice_.pages) {
            WindowMap::Piece* const last = pieces.empty() ? nullptr : &pieces.back();
            if (last != nullptr && last->file == page.file && last->file_offset + last->length == page.offset)
                last->length += page.length;
            else
                pieces.push_back(
                    {.offset = offset, .length = page.length, .file = page.file, .file_offset = page.offset});
            offset += page.length;
        }
        return pieces;
    }

    [[nodiscard]] std::uint64_t cost_at(const Layout& layout, Iova iova) const
    {
        PlanOptions plan = options_.plan;
        plan.iova = iova;
        return make_optimal_plan(layout, plan, options_.limits).cost();
    }

    //! Where they lie now: the kernel may have moved pages since they were taken.
    void check_nodes_of(const WindowMap& map) const
    {
        const std::span window{reinterpret_cast<const std::byte*>(map.address), map.length};
        check_node(window.first(map.header_length), Window::header_size, *options_.node);
        check_node(window.subspan(map.header_length), options_.page_size, *options_.node);
    }

    //! Congruent in as many bits as drivers stand where there is room, though the choice needs fewer: then nothing
    //! but the memory's own layout and length limits a plan.
    AddressRange addresses()
    {
        const PageShift most = options_.limits.max_page_shift;
        if (!choice_.frames.empty() && choice_.modulus < most) {
            const std::uint64_t residue = choice_.frames[1].value() & (most.bytes() - 1);
            try {
                return AddressRange::congruent(Window::header_size, options_.size, most, residue);
            } catch (const Error&) { // NOLINT(bugprone-empty-catch): the reservation is small, and nearly full
            }
        }
        return AddressRange::congruent(Window::header_size, options_.size, choice_.modulus, choice_.residue);
    }

    [[nodiscard]] int descriptor(std::size_t file) noexcept
    {
        const std::size_t of_block = block_files().files().size();
        return (file < of_block ? files_[0].files()[file] : files_[1].files()[file - of_block]).fd.get();
    }

    void give_back_surplus()
    {
        const Stopwatch watch{phases_->give_back};
        for (const PageAt& page : choice_.surplus)
            punch(descriptor(page.file), page);
    }

    //! Descending frames leave the pool's free list sorted: it is last in, first out. Where they are hidden, the
    //! reverse of how the pages came leaves it as it was.
    [[nodiscard]] std::vector<PageAt> give_back_order() const
    {
        if (choice_.frames.empty())
            return {choice_.pages.rbegin(), choice_.pages.rend()};
        std::vector<std::size_t> order(choice_.pages.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [this](std::size_t a, std::size_t b) { return choice_.frames[a] > choice_.frames[b]; });
        std::vector<PageAt> pages;
        pages.reserve(order.size());
        for (const std::size_t i : order)
            pages.push_back(choice_.pages[i]);
        return pages;
    }

    const WindowOptions& options_;
    const std::vector<PageNeed> needs_;
    const std::uint64_t lowest_;
    ProgressMeter meter_;
    std::vector<PageFiles> files_; // The block's, and the header's where it is of another size.
    Choice choice_;
    BuildPhases* phases_ = nullptr;
};

} // namespace
} // namespace hugepage

void Window::preflight(const WindowOptions& options)
{
    for (const hugepage::PageNeed& need : hugepage::needs_of(options))
        hugepage::check_pages(need, options.node);
}

Window Window::build(const WindowOptions& options)
{
    if (host::iommu() == host::Iommu::translating)
        log_once(
            Severity::warning,
            "an IOMMU translates what devices see: frames do not tell it, so fewer translation entries are luck; "
            "for placement to count, boot with iommu=pt");
    hugepage::Builder builder{options};
    auto state = std::make_unique<State>();
    builder.build(*state);
    return Window{std::move(state)};
}

} // namespace mrz

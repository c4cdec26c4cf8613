/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The C API of mrzone.
 *
 * Calls that return int give 0 (or a count) on success and a negative errno on failure; mrz_last_error() then says
 * why. Every destroy takes NULL. A struct of options begins with its size, so that it can grow: set struct_size to
 * sizeof the struct and the rest to zero before use. No C++ exception leaves a call.
 *
 * Calls on one object may come from several threads, except its destroy.
 */
#ifndef MRZONE_H
#define MRZONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MRZ_API
#define MRZ_API __attribute__((visibility("default")))
#endif

/** Hugepages as a DPDK heap, placed for the fewest translation entries. */
typedef struct mrz_arena mrz_arena;

struct mrz_arena_options {
    size_t struct_size;    /**< sizeof(struct mrz_arena_options). */
    uint64_t size;         /**< Bytes, a multiple of page_size. */
    uint64_t page_size;    /**< Bytes; 0: 2 MiB. */
    int32_t node_plus_one; /**< NUMA node + 1; 0: any node. */
    uint32_t threads;      /**< Threads that zero pages, at most 5; 0: chosen by size. */
    uint32_t exact;        /**< Not 0: look at no more pages than are needed. */
    uint32_t reserved;     /**< 0. */
};

/**
 * Builds an arena; the EAL must be running.
 * \param name 1 to 31 characters; names the DPDK heap.
 * \param out set to the arena on success and to NULL on failure; to be given to mrz_arena_destroy().
 * \return 0; -EINVAL, -ENAMETOOLONG, -E2BIG (options of a newer library); -EEXIST (the name is taken); -ENOMEM,
 *         -ENOSPC (pages, limits, control groups, DPDK's heaps), -EFBIG, -EMFILE; -EPERM, -EACCES; -ENODEV (no EAL);
 *         -ENOTSUP (in a secondary process).
 */
MRZ_API int mrz_arena_build(const char* name, const struct mrz_arena_options* options, mrz_arena** out);

/**
 * In a secondary process, maps the primary's arena.
 * \param out as for mrz_arena_build().
 * \return 0; -ENOENT (the primary has none of this name); -EEXIST (an address is taken); -ENODEV (no EAL); -ENOTSUP
 * (in a primary process, or where there are no secondary ones).
 */
MRZ_API int mrz_arena_attach(const char* name, mrz_arena** out);

/** Adds a window of \p size bytes. \return as mrz_arena_build(); -EBADF once closed. */
MRZ_API int mrz_arena_grow(mrz_arena* arena, uint64_t size);

/** \return the socket id for DPDK's allocation calls (256 and above). */
MRZ_API int mrz_arena_socket_id(const mrz_arena* arena);

/** In a secondary process, maps the windows that the primary has added since. \return as mrz_arena_attach(). */
MRZ_API int mrz_arena_refresh(mrz_arena* arena);

/**
 * Says what one key over each window costs, and why, a line a window.
 * \param text receives at most \p size bytes, always terminated if size > 0; may be NULL if size is 0.
 * \return the whole length without the terminator, as snprintf(3).
 */
MRZ_API int mrz_arena_explain(const mrz_arena* arena, char* text, size_t size);

/**
 * Gives all memory back. The handle is still to be given to mrz_arena_destroy().
 * \return 0; -EBUSY if something lives in it, and then nothing has changed.
 */
MRZ_API int mrz_arena_close(mrz_arena* arena);

/** Frees the handle and closes the arena; memory that is still in use is kept until the process ends. */
MRZ_API void mrz_arena_destroy(mrz_arena* arena);

/** \return the text of this thread's last failure, valid until its next failure; "" if there was none. */
MRZ_API const char* mrz_last_error(void);

#ifdef __cplusplus
}
#endif

#endif

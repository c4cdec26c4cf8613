/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Address and length to lkey, for C and C++: what a packet touches. Inline, wait-free, without a lock, an allocation
 * or a write to memory that is shared.
 *
 * A reader is one thread's handle for the look-ups of a domain. Found is every region of the domain, but those of a
 * cache, whose iova is its virtual address, from the end of its registration until its deregistration begins. A key
 * is valid as long as its region lives: whoever destroys a region sees to it that nobody works with its key any more.
 *
 * Memory that is unmapped, moved or discarded while it is registered is found no more if the domain has a watched
 * cache (mrzone/cache.hpp): no look-up that starts after that call has returned gets the key to what was there. For
 * some microseconds around such a call, of whatever watched memory of the process, searches find nothing; so a miss
 * may be worth a second try, or a lease. Memory of an arena is found all the same.
 *
 * Memory of an arena is found by a shift, a bound and two loads, as is what else lasts (RegionOptions), is whole,
 * aligned 2 MiB and grants local write. Other regions are searched, in a number of steps that grows with the
 * logarithm of theirs and without a branch that chance decides. Of those that overlap the one is taken that reaches
 * farthest.
 */
#ifndef MRZONE_LOOKUP_H
#define MRZONE_LOOKUP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What this header knows of the library's insides: given, and checked, where a reader is made. */
#define MRZ_LOOKUP_LAYOUT 2

/** The key that work requests of the owner carry. */
struct mrz_lkey {
    uint32_t value;
};

/** One thread's handle for look-ups in a domain. */
typedef struct mrz_reader mrz_reader;

/* ---- Insides, which change with MRZ_LOOKUP_LAYOUT -----------------------------------------------------------------
 */

/* What compilers find too large for its worth here. */
#define MRZ_LOOKUP_INLINE_ static inline __attribute__((always_inline))

enum {
    MRZ_LOOKUP_SLOT_SHIFT_ = 21,
    MRZ_LOOKUP_SLOTS_ = 1 << 26, /* The user's half of a 48-bit address space. */
    MRZ_LOOKUP_TO_WRITE_ = 0,
    MRZ_LOOKUP_TO_READ_ = 1
};

/* What one key covers, from a start that only the tree knows. */
struct mrz_lookup_segment_ {
    uint64_t end;  /* The address after the last byte; becomes 0 if the key must not be used any more. */
    uint64_t word; /* 1 << 32 | key. */
};

/*
 * Starts ascend, and so do ends. They are a tree of nodes of three starts each and an unused word, which follow this
 * struct; each has four children, from number 4 * node + 1 on. Below the last nodes are the segments.
 */
struct mrz_lookup_table_ {
    uint64_t first;       /* Where the first segment starts. */
    uint64_t length;      /* From there to the last segment's end. */
    uint64_t depth;       /* Nodes from the root to a segment. */
    uint64_t first_below; /* The number that the first segment has as a child. */
    const struct mrz_lookup_segment_* segments;
    uint64_t unused[3];
};

/*
 * What all readers of a domain read: this, and right behind it what is known of each slot, in two arrays: where its
 * region ends, as the address after the last byte (0: there is none), and its key. A view is the address of the first
 * array. An end that was seen belongs to the key that is read after it: a slot has no other key before every reader
 * was quiescent. In a child made by fork all of it reads as zero, so that nothing is found.
 */
struct mrz_lookup_head_ {
    const struct mrz_lookup_table_* tables[2]; /* By MRZ_LOOKUP_TO_…; NULL: nothing. */
    uint64_t slot_count;                       /* Does not change. */
    uint64_t unused[5];
};

struct mrz_reader {
    const uint64_t* view;
};

static inline const struct mrz_lookup_head_* mrz_lookup_head_of_(const uint64_t* view)
{
    return (const struct mrz_lookup_head_*)(const void*)view - 1;
}

/* The key, as a word that is not 0. */
MRZ_LOOKUP_INLINE_ uint64_t mrz_lookup_slot_word_(const uint64_t* view, uint64_t address)
{
    const uint32_t* const keys = (const uint32_t*)(const void*)(view + MRZ_LOOKUP_SLOTS_);
    return (uint64_t)1 << 32 | __atomic_load_n(&keys[address >> MRZ_LOOKUP_SLOT_SHIFT_], __ATOMIC_RELAXED);
}

/* The end of the region in slots that covers all the bytes; 0: none. */
MRZ_LOOKUP_INLINE_ uint64_t mrz_lookup_slot_end_(const uint64_t* view, uint64_t address, uint64_t length)
{
    const uint64_t slot = address >> MRZ_LOOKUP_SLOT_SHIFT_;
    /* No region is so long; from here on no sum loses a bit. Nothing is left of it for a uint32_t. */
    if (__builtin_expect(slot < mrz_lookup_head_of_(view)->slot_count && length >> 52 == 0, 1)) {
        const uint64_t end = __atomic_load_n(&view[slot], __ATOMIC_ACQUIRE);
        if (__builtin_expect(address + length - 1 < end, 1))
            return end;
    }
    return 0;
}

/* The number of the last segment that does not start after the address, which is not before the first. */
MRZ_LOOKUP_INLINE_ uint64_t mrz_lookup_search_(const struct mrz_lookup_table_* table, uint64_t address)
{
    const uint64_t* const starts = (const uint64_t*)(table + 1);
    uint64_t node = 0;
    for (uint64_t depth = table->depth; depth != 0; --depth) {
        const uint64_t* const three = starts + 4 * node;
        /* Added and not branched upon: which way is chance. */
        node = 4 * node + 1;
        node += three[0] <= address;
        node += three[1] <= address;
        node += three[2] <= address;
    }
    return node - table->first_below;
}

/* The end of the key that covers all the bytes, whose word is stored then; 0: none. */
MRZ_LOOKUP_INLINE_ uint64_t mrz_lookup_segment_end_(const uint64_t* view, int use, uint64_t address, uint64_t length,
                                                    uint64_t* word)
{
    const struct mrz_lookup_table_* const table =
        __atomic_load_n(&mrz_lookup_head_of_(view)->tables[use], __ATOMIC_ACQUIRE);
    if (table == 0 || address - table->first >= table->length)
        return 0;
    const struct mrz_lookup_segment_* const segment = &table->segments[mrz_lookup_search_(table, address)];
    const uint64_t end = __atomic_load_n(&segment->end, __ATOMIC_RELAXED);
    const uint64_t last = address + (length - (length != 0));
    if (last >= end || last < address) /* The latter where the sum wraps. */
        return 0;
    *word = segment->word;
    return end;
}

/* The key in the low half of what is not 0; 0: none. */
MRZ_LOOKUP_INLINE_ uint64_t mrz_lookup_word_(const uint64_t* view, int use, const void* address, uint64_t length)
{
    const uint64_t begin = (uint64_t)(uintptr_t)address;
    uint64_t word = 0;
    if (__builtin_expect(mrz_lookup_slot_end_(view, begin, length) != 0, 1))
        return mrz_lookup_slot_word_(view, begin);
    (void)mrz_lookup_segment_end_(view, use, begin, length, &word);
    return word;
}

static inline uint64_t mrz_lookup_reach_(const uint64_t* view, int use, const void* address, uint64_t length,
                                         uint64_t* word)
{
    const uint64_t begin = (uint64_t)(uintptr_t)address;
    uint64_t end = mrz_lookup_slot_end_(view, begin, length);
    if (end != 0)
        *word = mrz_lookup_slot_word_(view, begin);
    else
        end = mrz_lookup_segment_end_(view, use, begin, length, word);
    return end != 0 ? end - begin : 0;
}

static inline int mrz_lookup_key_(uint64_t word, struct mrz_lkey* key)
{
    if (word == 0)
        return 0;
    key->value = (uint32_t)word;
    return 1;
}

/* ---- Look-ups ----------------------------------------------------------------------------------------------------
 */

/**
 * The key of a region that covers all \p length bytes at \p address and grants local write.
 * \param reader of the calling thread.
 * \param length bytes; none count as one.
 * \param key is set if there is one.
 * \return 1; 0 if there is none.
 */
static inline int mrz_lookup(const mrz_reader* reader, const void* address, uint64_t length, struct mrz_lkey* key)
{
    return mrz_lookup_key_(mrz_lookup_word_(reader->view, MRZ_LOOKUP_TO_WRITE_, address, length), key);
}

/** As mrz_lookup(), for memory that the device shall only read: of any region. */
static inline int mrz_lookup_to_read(const mrz_reader* reader, const void* address, uint64_t length,
                                     struct mrz_lkey* key)
{
    return mrz_lookup_key_(mrz_lookup_word_(reader->view, MRZ_LOOKUP_TO_READ_, address, length), key);
}

/** As mrz_lookup(). \return how many bytes from \p address on the key covers, \p length at least; 0 if there is none.
 */
static inline uint64_t mrz_lookup_reach(const mrz_reader* reader, const void* address, uint64_t length,
                                        struct mrz_lkey* key)
{
    uint64_t word = 0;
    const uint64_t reach = mrz_lookup_reach_(reader->view, MRZ_LOOKUP_TO_WRITE_, address, length, &word);
    (void)mrz_lookup_key_(word, key);
    return reach;
}

/** As mrz_lookup_reach(), for memory that the device shall only read: of any region. */
static inline uint64_t mrz_lookup_reach_to_read(const mrz_reader* reader, const void* address, uint64_t length,
                                                struct mrz_lkey* key)
{
    uint64_t word = 0;
    const uint64_t reach = mrz_lookup_reach_(reader->view, MRZ_LOOKUP_TO_READ_, address, length, &word);
    (void)mrz_lookup_key_(word, key);
    return reach;
}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The C API of mrzone: domains, regions, arenas and zones, the keys to them, readers, which look keys up, and caches,
 * which make regions on demand.
 *
 * Calls that return int give 0 (or a count) on success and a negative errno on failure; mrz_last_error() then says
 * why. Any of them may give -EINVAL for a NULL that is not allowed, and -ENOMEM where this process is out of memory.
 * Where a call hands something out by a last parameter \p out, that is set on success and becomes NULL on failure.
 * No C++ exception leaves a call.
 *
 * Sizes, lengths and alignments are bytes. A struct begins with its size, so that it can grow: set struct_size to
 * sizeof the struct and the rest to zero before each use. Of options a library reads what it knows; if a member that
 * it does not know is not zero, the call fails with -E2BIG. Of what it describes it fills in what both know.
 *
 * What a call makes (a pointer without const) is the caller's, to be given to its destroy; every destroy takes NULL.
 * A const mrz_region * belongs to an arena or a zone, and cannot be destroyed. Things may be destroyed in any order
 * unless said otherwise: regions, caches, readers and movable keys keep their domain, leases their region, and zones
 * their arena's memory, for as long as they need it. A movable key keeps no region: when one that it leads to ends,
 * it leads nowhere.
 *
 * Calls on one object may come from several threads, except its destroy, which excludes all others.
 */
#ifndef MRZONE_H
#define MRZONE_H

#include <mrzone/lookup.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MRZ_API
#define MRZ_API __attribute__((visibility("default")))
#endif

/** DPDK's description of a zone, in rte_memzone.h. */
struct rte_memzone;
/** A protection domain of libibverbs, in infiniband/verbs.h. */
struct ibv_pd;

/** A protection domain of a device, with what is registered in it. */
typedef struct mrz_domain mrz_domain;
/** Memory registered in a domain, and the keys to it. */
typedef struct mrz_region mrz_region;
/** A key for peers that is led to parts of regions, and to others later. */
typedef struct mrz_movable_key mrz_movable_key;
/** Regions of a domain on demand, kept while there is room. */
typedef struct mrz_cache mrz_cache;
/** Hugepages as a DPDK heap, placed for the fewest translation entries. */
typedef struct mrz_arena mrz_arena;
/** A named piece of an arena. */
typedef struct mrz_zone mrz_zone;

/** \return the text of this thread's last failure, valid until its next failure; "" if there was none. */
MRZ_API const char* mrz_last_error(void);

/* ---- Keys and rights ------------------------------------------------------------------------------------------- */

/* struct mrz_lkey is in mrzone/lookup.h. */

/** The key that a peer's requests carry. */
struct mrz_rkey {
    uint32_t value;
};

/** Rights, to be combined by |. Remote write and remote atomic need local write. */
enum mrz_access {
    MRZ_ACCESS_LOCAL_READ = 0, /**< Implied by all. */
    MRZ_ACCESS_LOCAL_WRITE = 1 << 0,
    MRZ_ACCESS_REMOTE_READ = 1 << 1,
    MRZ_ACCESS_REMOTE_WRITE = 1 << 2,
    MRZ_ACCESS_REMOTE_ATOMIC = 1 << 3,
};

/* ---- Domains --------------------------------------------------------------------------------------------------- */

/** Look-ups of a whole device's translation caches. */
struct mrz_cache_counters {
    size_t struct_size; /**< sizeof(struct mrz_cache_counters). */
    uint64_t mtt_hits;
    uint64_t mtt_misses;
    uint64_t mpt_hits;
    uint64_t mpt_misses;
};

/** What some regions are together. Does not grow. */
struct mrz_tier_counts {
    uint64_t regions;
    uint64_t bytes;            /**< That they were named with. */
    uint64_t pinned_bytes;     /**< In whole pages, counted once a region. */
    uint64_t keys;             /**< Direct and indirect ones. */
    uint64_t mtt_entries;      /**< Translation entries. */
    uint64_t indirect_entries; /**< Entries of indirect keys. */
};

/** What is registered in a domain now. */
struct mrz_domain_counts {
    size_t struct_size;               /**< sizeof(struct mrz_domain_counts). */
    uint64_t number;                  /**< Among the domains of this process; what telemetry calls it by. */
    uint64_t closed;                  /**< 1 or 0. */
    struct mrz_tier_counts arena;     /**< Regions of arenas, and of zones. */
    struct mrz_tier_counts resident;  /**< Of those who made them by mrz_region_register(). */
    struct mrz_tier_counts temporary; /**< Of caches. */
    uint64_t looked_up;               /**< Regions that readers find. */
    uint64_t looked_up_in_slots;      /**< Of these, by one load. */
    uint64_t segments;                /**< That the others are searched in. */
    uint64_t tables_waiting;          /**< Old ones that a reader may still be searching. */
    uint64_t bytes_waiting;           /**< Theirs. */
    uint64_t readers;
    uint64_t hidden;       /**< Regions that readers find no more, since some of their memory went. */
    uint64_t shut;         /**< 1 while memory may be gone, so that readers find in slots only; else 0. */
    uint64_t movable_keys; /**< Not among the keys of regions. */
};

/**
 * Opens a domain on a device.
 * \param device its name, which never becomes another device; where several drivers know it, the first of them,
 * unless one is named ("verbs:mlx5_0"). NULL or "any": the first device of the first driver that has one, at last the
 *        software adapter, which is said by mrz_domain_reason().
 * \param out to be given to mrz_domain_destroy(). Belongs to this process: a child of fork() opens its own.
 * \return 0; -ENODEV (no such device; the text names those there are); and whatever the driver says.
 */
MRZ_API int mrz_domain_open(const char* device, mrz_domain** out);

/**
 * Takes a protection domain of the caller's, whose queue pairs then work with the keys. It stays the caller's, and
 * outlives what is registered in it.
 * \param out to be given to mrz_domain_destroy(), which leaves \p pd alone.
 * \return 0; -EINVAL (NULL); -ENOTSUP (the library was built without libibverbs); and whatever the driver says.
 */
MRZ_API int mrz_domain_adopt(struct ibv_pd* pd, mrz_domain** out);

/**
 * The device's name.
 * \param text receives at most \p size bytes, always terminated if size > 0; may be NULL if size is 0.
 * \return the whole length without the terminator, as snprintf(3).
 */
MRZ_API int mrz_domain_name(const mrz_domain* domain, char* text, size_t size);

/** The name of the device's driver. Parameters and return as mrz_domain_name(). */
MRZ_API int mrz_domain_driver(const mrz_domain* domain, char* text, size_t size);

/** Why this device: a sentence for reports. Parameters and return as mrz_domain_name(). */
MRZ_API int mrz_domain_reason(const mrz_domain* domain, char* text, size_t size);

/** \return the device's NUMA node; -ENODATA if it has none, as one of software. */
MRZ_API int mrz_domain_numa_node(const mrz_domain* domain);

/**
 * \return whether registering memory twice always pins it, and is charged, twice: 1, or 0 where regions may share
 * what is pinned (MRZ_WAY_PINNED_ONCE).
 */
MRZ_API int mrz_domain_pins_again(const mrz_domain* domain);

/** Fills in the counters. \return 0; -ENOTSUP if the device cannot tell: only one of software can. */
MRZ_API int mrz_domain_cache_counters(const mrz_domain* domain, struct mrz_cache_counters* counters);

/** Fills in \p counts, at the same cost whatever is registered. \return 0; -ENOTSUP (in a child of fork()). */
MRZ_API int mrz_domain_snapshot(const mrz_domain* domain, struct mrz_domain_counts* counts);

/**
 * Gives the domain back now, instead of when its last region is gone too. The handle is still to be given to
 * mrz_domain_destroy(), and describes the device; registering with it gives -EBADF. Closing again does nothing.
 * \return 0; -EBUSY if something lives in it, which the text names, and then nothing has changed.
 */
MRZ_API int mrz_domain_close(mrz_domain* domain);

/** Frees the handle. The domain lives as long as an arena or a region in it. */
MRZ_API void mrz_domain_destroy(mrz_domain* domain);

/* ---- Regions --------------------------------------------------------------------------------------------------- */

enum mrz_paging {
    MRZ_PAGING_PINNED = 0, /**< Pages stay where they are for as long as the key lives. */
    MRZ_PAGING_ON_DEMAND,  /**< The device faults pages in. Needs a device that can. */
};

enum mrz_ordering {
    MRZ_ORDERING_STRICT = 0,
    MRZ_ORDERING_RELAXED, /**< The device may reorder its writes. Needs a device that can. */
    MRZ_ORDERING_BEST,    /**< Relaxed where the device can, else strict. */
};

/** Which way to register memory, where a device has several: mlx5 has umems and ibv_reg_mr. */
enum mrz_way {
    /** The driver's own: memory that several regions of similar length cover is pinned once, until the last ends. */
    MRZ_WAY_PINNED_ONCE = 0,
    MRZ_WAY_FEWEST_ENTRIES, /**< Whichever costs less in the device's tables. */
    MRZ_WAY_MEMORY_REGION,  /**< That of ibv_reg_mr, as any program registers. Pages on demand need it. */
};

/**
 * Whether a region may share what is pinned with others over the same pages, where the device can. It then stays
 * pinned, whole, until the last of them is destroyed.
 */
enum mrz_sharing {
    MRZ_SHARING_SIMILAR = 0, /**< Only what is at most twice as long as the region. */
    MRZ_SHARING_NEVER,       /**< What it pins is its own, and ends with it. */
    MRZ_SHARING_ALWAYS,      /**< Whatever covers it: for parts of memory that is pinned for longer anyway. */
};

struct mrz_region_options {
    size_t struct_size; /**< sizeof(struct mrz_region_options). */
    uint64_t iova;      /**< Where the key's space begins; agrees with the address in the low 12 bits. */
    uint32_t has_iova;  /**< Not 0: iova counts. 0: iova is 0, and the key's space begins at the virtual address. */
    uint32_t paging;    /**< enum mrz_paging. */
    uint32_t ordering;  /**< enum mrz_ordering. */
    uint32_t way;       /**< enum mrz_way. */
    uint32_t sharing;   /**< enum mrz_sharing. */
    uint32_t reserved;  /**< 0. */
};

struct mrz_region_info {
    size_t struct_size;    /**< sizeof(struct mrz_region_info). */
    void* address;         /**< Of the first byte, in this process. */
    uint64_t length;       /**< Bytes. */
    uint64_t iova;         /**< Of the first byte, for those who use the keys. */
    struct mrz_lkey lkey;  /**< For work requests of the owner. */
    struct mrz_rkey rkey;  /**< For peers. Grants nothing if no right is remote. */
    uint32_t access;       /**< enum mrz_access, combined. */
    uint32_t page_shift;   /**< Of the device's entries, of the first key if there are several: 12 for 4 KiB. */
    uint64_t mtt_entries;  /**< Translation entries of all keys. */
    uint64_t pinned_bytes; /**< In whole pages of the machine. */
    uint64_t pin_ns;       /**< Nanoseconds to walk the page table and pin. */
    uint64_t map_ns;       /**< Nanoseconds to make it known to an IOMMU, and to find frames. */
    uint64_t tables_ns;    /**< Nanoseconds to fill the device's tables. */
};

/**
 * Registers exactly \p length bytes at \p address, which must stay mapped as they are for as long as the region
 * lives. Pages that were never touched are populated first. \param access enum mrz_access, combined. \param options
 * NULL: as all zero. \param out to be given to mrz_region_destroy(). \return 0; on failure nothing is pinned: -EINVAL
 * (no bytes, a range that wraps, rights that contradict each other or do not exist, an iova that fits no page size),
 * -E2BIG (options of a newer library); -EFAULT (memory that is not mapped, that the driver may not write, or for
 * which no pages are to be had); -EPERM (frames are hidden and the device needs them); -ENOMEM (the limit on locked
 * memory, or the device has no more keys or translations); -ENOTSUP (paging or ordering, or memory of a file that the
 * driver cannot pin); -ESTALE, -EBADMSG (the device did not build what was planned); -EBADF (a closed domain).
 */
MRZ_API int mrz_region_register(const mrz_domain* domain, void* address, uint64_t length, uint32_t access,
                                const struct mrz_region_options* options, mrz_region** out);

/** Fills in \p info. \return 0. */
MRZ_API int mrz_region_describe(const mrz_region* region, struct mrz_region_info* info);

/** \return the key for work requests of the owner; 0 for NULL. Never fails: for the fast path. */
MRZ_API struct mrz_lkey mrz_region_lkey(const mrz_region* region);

/** \return the key for peers, which grants nothing if no right is remote; 0 for NULL. */
MRZ_API struct mrz_rkey mrz_region_rkey(const mrz_region* region);

/** \return the address of the first byte for those who use the keys; 0 for NULL. */
MRZ_API uint64_t mrz_region_iova(const mrz_region* region);

/**
 * Says what the region's keys cost, and why: a line, "1 key, 1 entry of 2 MiB; limited by length: …".
 * Parameters and return as mrz_domain_name().
 */
MRZ_API int mrz_region_explain(const mrz_region* region, char* text, size_t size);

/**
 * Deregisters: afterwards no operation reaches the memory by these keys, and it is not pinned, unless by another
 * region over the same pages that what is pinned is shared with (MRZ_WAY_PINNED_ONCE).
 */
MRZ_API void mrz_region_destroy(mrz_region* region);

/** What a peer is given to reach a region. It grants as much as the region, for as long as that lives. */
struct mrz_remote_region {
    size_t struct_size;   /**< sizeof(struct mrz_remote_region). */
    uint64_t iova;        /**< Of the first byte, in the key's space. */
    uint64_t length;      /**< Bytes. */
    struct mrz_rkey rkey; /**< What the peer's requests carry. */
    uint32_t access;      /**< What is granted to peers: remote rights of enum mrz_access, combined. */
    uint32_t page_shift;  /**< Of the smallest entry that it costs: 12 for 4 KiB. A hint for aligned requests. */
    uint32_t reserved;    /**< 0. */
    uint64_t generation;  /**< Of two for the same memory the greater is newer. */
};

/** Bytes that mrz_remote_region_pack() fills, and the least that mrz_remote_region_unpack() takes. */
#define MRZ_REMOTE_REGION_PACKED 48

/** Fills in what a peer is to be given. \return 0; -EACCES (no right of the region is remote). */
MRZ_API int mrz_region_remote(const mrz_region* region, struct mrz_remote_region* remote);

/**
 * Takes the rkey back, and issues another for the same memory and rights. When it returns no operation reaches the
 * memory by the old one. Excludes what asks for the rkey meanwhile.
 * \param remote receives what peers are to be given now.
 * \return 0; -EACCES (no right of the region is remote); -ENOTSUP (the driver does not choose keys: there only
 * mrz_region_destroy() takes one back; or in a child of fork()); and whatever the device says. On failure nothing has
 * changed.
 */
MRZ_API int mrz_region_reissue(mrz_region* region, struct mrz_remote_region* remote);

/**
 * Packs it in network byte order, to be sent as it is: for instance as private data of a connection of RDMA-CM.
 * \param bytes receives MRZ_REMOTE_REGION_PACKED bytes.
 * \param size how many there is room for.
 * \return how many bytes were filled; -ENOBUFS (too little room); -EINVAL (a page shift, or rights, that are none).
 */
MRZ_API int mrz_remote_region_pack(const struct mrz_remote_region* remote, void* bytes, size_t size);

/**
 * Unpacks what mrz_remote_region_pack() made.
 * \param size how many bytes there are, perhaps more than were packed, since RDMA-CM pads.
 * \return 0; -EBADMSG (damaged, or none, or of a version that this library does not know).
 */
MRZ_API int mrz_remote_region_unpack(const void* bytes, size_t size, struct mrz_remote_region* remote);

/* ---- Movable keys ---------------------------------------------------------------------------------------------- */

struct mrz_movable_key_options {
    size_t struct_size; /**< sizeof(struct mrz_movable_key_options). */
    uint32_t access;    /**< What peers may do: remote rights of enum mrz_access, combined. 0: to read. */
    uint32_t entries;   /**< Parts of at most 2 GiB that it can lead to at once, 48 at most on mlx5. 0: 4. */
};

/** A part of a region. Does not grow. */
struct mrz_region_part {
    const mrz_region* region;
    const void* address; /**< Within the region's memory. NULL, with a length of 0: all of it. */
    uint64_t length;     /**< Bytes. */
};

/**
 * Makes a key that leads nowhere yet, in a domain, which cannot be closed before the key is destroyed.
 * \param options NULL: as all zero.
 * \param out to be given to mrz_movable_key_destroy().
 * \return 0; -ENOTSUP (the device's driver has no such keys; or a child of fork()); -EINVAL (rights that are not
 * remote); -E2BIG (more entries than a key may have; or options of a newer library); -EBADF (a closed domain);
 * -ENOMEM (the device has no more keys); -ENETDOWN (an adapter of mlx5 without a port that is active).
 */
MRZ_API int mrz_movable_key_create(const mrz_domain* domain, const struct mrz_movable_key_options* options,
                                   mrz_movable_key** out);

/**
 * Makes the key lead to \p count parts, one after the other, and to nothing else. Neither pins nor registers. When it
 * returns no operation reaches by the key what it led to before, and what peers were given before is refused. The
 * regions need no remote rights; local write, where peers may write. When one of them ends the key leads nowhere.
 * \param remote receives what a peer is to be given: its iova is the address of the first part. A failure leaves it.
 * \return 0; and where nothing has changed: -EINVAL (no parts, an empty one, or one that is not within its region; a
 * region of another domain); -EACCES (rights that the region does not have); -E2BIG (more than the key has entries);
 * -ENOTSUP (a child of fork()). On another failure the device refused, and the key leads nowhere.
 */
MRZ_API int mrz_movable_key_lead_to(mrz_movable_key* key, const struct mrz_region_part* parts, size_t count,
                                    struct mrz_remote_region* remote);

/** When it returns no operation reaches anything by the key. \return 0; -ENOTSUP (in a child of fork()). */
MRZ_API int mrz_movable_key_lead_nowhere(mrz_movable_key* key);

/** Fills in what a peer is to be given. \return 0; -ENOENT (it leads nowhere); -ENOTSUP (in a child of fork()). */
MRZ_API int mrz_movable_key_remote(const mrz_movable_key* key, struct mrz_remote_region* remote);

/** No operation reaches anything by the key afterwards. */
MRZ_API void mrz_movable_key_destroy(mrz_movable_key* key);

/* ---- Readers --------------------------------------------------------------------------------------------------- */

/*
 * A reader looks up keys by address and length: mrz_lookup() and its kin, which are inline in mrzone/lookup.h. It is
 * one thread's, but may be made, handed over and destroyed by others.
 */

/**
 * Makes a reader of a domain, which cannot be closed before the reader is destroyed.
 * \param layout MRZ_LOOKUP_LAYOUT: what the caller's inline look-ups know of the library.
 * \param out to be given to mrz_reader_destroy(). In a child of fork() it finds nothing.
 * \return 0; -ENOTSUP (the library has another layout, which the text names; or a child of fork()); -EMFILE (1024
 * there are already); -EBADF (the domain is closed).
 */
MRZ_API int mrz_reader_create(const mrz_domain* domain, uint32_t layout, mrz_reader** out);

/**
 * Says that no look-up of this reader is under way: once a burst. Where registrations come and go, old tables are
 * freed only when every reader that is online has said so since. Does nothing for NULL.
 */
MRZ_API void mrz_reader_quiescent(mrz_reader* reader);

/** Says that there will be no look-up until mrz_reader_online(): before a pause. Does nothing for NULL. */
MRZ_API void mrz_reader_offline(mrz_reader* reader);

/** Ends what mrz_reader_offline() began. A reader is made online. Does nothing for NULL. */
MRZ_API void mrz_reader_online(mrz_reader* reader);

/** Frees the reader. */
MRZ_API void mrz_reader_destroy(mrz_reader* reader);

/* ---- Caches ---------------------------------------------------------------------------------------------------- */

/*
 * A cache registers what is asked for, and keeps it for the next who asks until its room is needed; the least
 * recently used goes first. A lease is a use of one of its regions, and holds it.
 *
 * Memory goes away. A watched cache is told by the kernel of what is unmapped, moved or mapped over: no lease that
 * starts after such a call has returned is of what was there. Memory that cannot be watched is registered for each
 * lease, and nothing is kept. What happens to a file, and everything with MRZ_WATCH_NONE, the program tells by
 * mrz_cache_invalidate(), after it was done and before the addresses are used again. mrz_cache_create(3) says more.
 *
 * Of memory that DPDK took from the kernel itself DPDK tells when it gives it back; it must not be leased any more
 * once it was freed. rte_eal_cleanup() takes it away without a word: caches that are not watched are closed before,
 * and afterwards only memory is leased that is mapped and can be watched. No cache is made, closed or destroyed in a
 * callback of DPDK's memory events.
 */

/** As merge_up_to: nothing is merged, or rounded further than to pages of the machine. */
#define MRZ_MERGE_NOTHING UINT64_MAX

/** Who tells a cache that memory is no longer what it was. */
enum mrz_watch {
    MRZ_WATCH_AUTOMATIC = 0, /**< The kernel, by userfaultfd(2), where that is to be had. */
    MRZ_WATCH_USERFAULTFD,   /**< The kernel; without it there is no cache. */
    MRZ_WATCH_NONE,          /**< The program, by mrz_cache_invalidate(). */
};

struct mrz_cache_options {
    size_t struct_size;        /**< sizeof(struct mrz_cache_options). */
    uint64_t bytes;            /**< Budget of pinned bytes, in whole pages; 0: 256 MiB. */
    uint64_t keys;             /**< Budget of regions, at most 1,048,576; 0: 4096. */
    uint64_t entries;          /**< Budget of translation entries; 0: no limit. */
    uint64_t merge_up_to;      /**< The longest range, in bytes, that comes of rounding to hugepages or of merging;
                                    0: 2 MiB; or MRZ_MERGE_NOTHING. */
    uint64_t deregister_bytes; /**< How fast idle regions are deregistered at most, in bytes a second; 0: 64 GiB. */
    uint64_t deregister_keys;  /**< And in regions a second; 0: 100,000. */
    uint32_t batch_threads;    /**< That register a batch, the caller's among them, during the call; 0: 2. */
    uint32_t grow;             /**< Not 0: small ranges may grow to the aligned 2 MiB around them, where that costs no
                                    entry. Only if the cache is told of all memory that is unmapped. */
    uint32_t watch;            /**< enum mrz_watch. */
    uint32_t reserved;         /**< 0. */
};

/** What a cache did, and holds now. */
struct mrz_cache_counts {
    size_t struct_size;      /**< sizeof(struct mrz_cache_counts). */
    uint64_t number;         /**< Among the caches of this process; what telemetry calls it by. */
    uint64_t domain;         /**< Its domain's number. */
    uint64_t hits;           /**< Leases of regions that were there. */
    uint64_t misses;         /**< Leases for which a region was made, or whose making was awaited. */
    uint64_t evictions;      /**< Idle regions given up for room. */
    uint64_t merges;         /**< Regions made of a range and its neighbours, or of several of one batch. */
    uint64_t invalidations;  /**< Regions that were ended since their memory went. */
    uint64_t waits;          /**< Times that a caller waited for deregistration. */
    uint64_t deregistered;   /**< Regions. */
    uint64_t leases;         /**< Now. */
    uint64_t regions;        /**< Now, in use or idle, that a lease can be had of at once. */
    uint64_t keys;           /**< Regions that count against the budget now, those included that come and go. */
    uint64_t bytes;          /**< That count against the budget now. */
    uint64_t entries;        /**< That count against the budget now. */
    uint64_t budget_bytes;   /**< As the options said, or left to the library. */
    uint64_t budget_keys;    /**< Likewise. */
    uint64_t budget_entries; /**< Likewise; UINT64_MAX: no limit. */
    uint64_t unkept;         /**< Regions made for one lease alone, since nobody tells of their memory. */
    uint32_t watched;        /**< 1 if the kernel tells of memory that goes away, else 0. */
    uint32_t reserved;       /**< 0. */
};

/**
 * A use of a region of a cache, in memory of the caller's: while it lives the keys work and the memory is pinned.
 * All zero it holds nothing. It may be copied, as a file descriptor may; one of the copies is to be released, and the
 * others are worth nothing then. It may live longer than its cache, and any one thread may use or release it.
 */
struct mrz_lease {
    void* address;        /**< Of the memory that was asked for. */
    uint64_t length;      /**< Bytes of it. */
    uint64_t iova;        /**< Of its first byte, for those who use the keys. */
    struct mrz_lkey lkey; /**< For work requests of the owner. */
    struct mrz_rkey rkey; /**< For peers. Grants nothing unless a remote right was asked for. */
    uint64_t held_[4];    /**< The library's. */
};

/** One range of a batch. */
struct mrz_lease_request {
    void* address;
    uint64_t length;   /**< Bytes. */
    uint32_t access;   /**< enum mrz_access, combined. */
    uint32_t reserved; /**< 0. */
};

/**
 * Makes a cache. It has one thread, "mrz-cache", that deregisters; all watched ones together have another,
 * "mrz-watch".
 * \param options NULL: as all zero.
 * \param out to be given to mrz_cache_destroy(). Belongs to this process: in a child of fork() calls give -ENOTSUP.
 * \return 0; -EINVAL (an option out of its range), -E2BIG (options of a newer library); -EMFILE, -ENFILE, -EAGAIN (no
 *         descriptor or thread is to be had); -EPERM (membarrier was granted before and is refused now); with
 *         MRZ_WATCH_USERFAULTFD also what userfaultfd(2) says.
 */
MRZ_API int mrz_cache_create(const mrz_domain* domain, const struct mrz_cache_options* options, mrz_cache** out);

/**
 * Gives a use of a region that covers \p length bytes at \p address with at least the rights \p access. A hit takes
 * no lock and allocates nothing. Ranges without a remote right are rounded to whole pages and may be merged; any
 * remote right gets exactly the range. The memory must stay mapped until the lease is released.
 * \param access enum mrz_access, combined.
 * \param lease becomes all zero on failure. What it held before is not released.
 * \return 0; -ENOBUFS (leased regions fill the budget); -E2BIG (more than the whole budget); -EBADF (the cache or its
 *         domain is closed); -ENOTSUP (in a child of fork()); and as mrz_region_register(). Where a limit refuses,
 *         idle regions are given up and it is tried once more before.
 */
MRZ_API int mrz_lease_acquire(mrz_cache* cache, void* address, uint64_t length, uint32_t access,
                              struct mrz_lease* lease);

/**
 * Gives a lease for each of \p count requests, in their order, or none. Ranges that lie together and have no remote
 * right become one region, up to merge_up_to.
 * \param leases room for as many; all become zero on failure, and then nothing that was not there before stays
 *        registered. What they held before is not released.
 * \return as mrz_lease_acquire(); -EINVAL also for a reserved that is not 0.
 */
MRZ_API int mrz_lease_acquire_all(mrz_cache* cache, const struct mrz_lease_request* requests, size_t count,
                                  struct mrz_lease* leases);

/**
 * Ends the use; poll the completions of what was posted with its keys before. The lease becomes all zero. Does
 * nothing for NULL, and for one that holds nothing.
 */
MRZ_API void mrz_lease_release(struct mrz_lease* lease);

/**
 * \return the rights of its region, enum mrz_access combined: at least what was asked for, and nothing remote that
 *         was not; 0 for NULL, and for one that holds nothing.
 */
MRZ_API uint32_t mrz_lease_access(const struct mrz_lease* lease);

/**
 * All that its region covers: the range asked for, rounded to pages, or what that was merged into.
 * \param length receives its bytes; may be NULL.
 * \return its first byte; NULL, of length 0, for NULL and for one that holds nothing.
 */
MRZ_API void* mrz_lease_region(const struct mrz_lease* lease, uint64_t* length);

/**
 * Forgets the regions that touch \p length bytes at \p address: no lease that starts afterwards is of one of them.
 * They are deregistered when their last lease is released. A range that wraps ends with the address space. Does
 * nothing for NULL. Takes no lock, and allocates, frees and deregisters nothing: may be called where the unmapping
 * thread waits for the caller, as in a handler of userfaultfd(2).
 */
MRZ_API void mrz_cache_invalidate(mrz_cache* cache, const void* address, uint64_t length);

/**
 * While this was raised (\p pending not 0) more often than cleared, leases wait: what is about to be invalidated is
 * not known yet. Does nothing for NULL. As mrz_cache_invalidate(), callable from a handler.
 */
MRZ_API void mrz_cache_set_pending(mrz_cache* cache, int pending);

/** Fills in \p info. \return 0; -ENOTSUP (in a child of fork()). */
MRZ_API int mrz_cache_snapshot(const mrz_cache* cache, struct mrz_cache_counts* info);

/**
 * Deregisters all and ends the thread. The handle is still to be given to mrz_cache_destroy(). Closing again does
 * nothing. Excludes all other calls on the cache.
 * \return 0; -EBUSY (there are leases, which the text counts), and then nothing has changed but that idle regions may
 *         be gone; -EPERM (membarrier was granted before and is refused now, so it is not known what is leased);
 *         -ENOTSUP (in a child of fork()).
 */
MRZ_API int mrz_cache_close(mrz_cache* cache);

/** Frees the handle, and deregisters what is not leased; what is goes with the last lease. */
MRZ_API void mrz_cache_destroy(mrz_cache* cache);

/* ---- Arenas ---------------------------------------------------------------------------------------------------- */

/* What arenas and zones are made of is to be gone before rte_eal_cleanup(). */

/** As a surplus_percent: all pages of the pool that nobody else has a claim on, but for a small reserve. */
#define MRZ_SURPLUS_POOL UINT32_MAX

struct mrz_arena_options {
    size_t struct_size;         /**< sizeof(struct mrz_arena_options). */
    uint64_t size;              /**< Bytes, a multiple of page_size. */
    uint64_t page_size;         /**< Bytes; 0: 2 MiB. */
    int32_t node_plus_one;      /**< NUMA node + 1; 0: any node. */
    uint32_t threads;           /**< Threads that zero pages, at most 5; 0: chosen by size. */
    uint32_t exact;             /**< Not 0: look at no more pages than are needed. */
    uint32_t surplus_percent;   /**< Look at so many percent more at most; 0: 100; or MRZ_SURPLUS_POOL. */
    mrz_domain* const* domains; /**< Where all of it is registered, for the owner's use. The array is only read. */
    size_t domain_count;        /**< How many; 0: none, and domains may be NULL. */
};

struct mrz_arena_info {
    size_t struct_size; /**< sizeof(struct mrz_arena_info). */
    uint64_t size;      /**< Bytes of all windows, without what the heap itself needs. */
    uint64_t windows;   /**< How many. */
    /* Nanoseconds that making the windows took, all of them together. */
    uint64_t pages_ns;  /**< Take pages (which zeroes), map, and give the surplus back. */
    uint64_t frames_ns; /**< Read where the pages lie. */
    uint64_t place_ns;  /**< Choose pages, order and address. */
    uint64_t pin_ns;    /**< In all domains: pin, and find the frames again. */
    uint64_t tables_ns; /**< In all domains: fill the device's tables. */
    uint64_t heap_ns;   /**< Make it memory of DPDK's heap. */
};

/** What an arena is made of now. */
struct mrz_arena_counts {
    size_t struct_size;             /**< sizeof(struct mrz_arena_counts). */
    uint64_t number;                /**< Among the arenas of this process; what telemetry calls it by. */
    uint64_t closed;                /**< 1 or 0. */
    uint64_t windows;               /**< How many. */
    uint64_t bytes;                 /**< Of all of them, without what the heap itself needs. */
    uint64_t page_size;             /**< Bytes; 0 where there is no window. */
    uint64_t node_plus_one;         /**< NUMA node that it was built for + 1; 0: any. */
    uint64_t zones;                 /**< Of this process, alive. */
    struct mrz_tier_counts regions; /**< In the domain that was asked for. What zones have of their own is not among
                                        these, but among those of the domain's arenas. */
};

/**
 * Builds an arena; the EAL must be running.
 * \param name 1 to 31 characters; names the DPDK heap.
 * \param out to be given to mrz_arena_destroy().
 * \return 0; -EINVAL, -ENAMETOOLONG, -E2BIG (options of a newer library); -EEXIST (the name is taken); -ENOMEM,
 *         -ENOSPC (pages, limits, control groups, DPDK's heaps), -EFBIG, -EMFILE; -EPERM, -EACCES; -ENODEV (no EAL);
 *         -ENOTSUP (in a secondary process); and, with domains, as mrz_region_register(). All is given back then.
 */
MRZ_API int mrz_arena_build(const char* name, const struct mrz_arena_options* options, mrz_arena** out);

/**
 * In a secondary process, maps the primary's arena.
 * \param domains this process's own, where all of it is registered: regions belong to the process that made them.
 *        The array is only read.
 * \param domain_count how many; 0: none, and domains may be NULL.
 * \param out as for mrz_arena_build().
 * \return 0; -ENOENT (the primary has none of this name); -EEXIST (an address is taken); -ENODEV (no EAL); -ENOTSUP
 *         (in a primary process, or where there are no secondary ones); and, with domains, as mrz_region_register().
 */
MRZ_API int mrz_arena_attach(const char* name, mrz_domain* const* domains, size_t domain_count, mrz_arena** out);

/**
 * Adds a window of \p size bytes; what is there does not move. From then on secondary processes must refresh before
 * any call of DPDK on this heap, frees included; mrz_zone_reserve() and mrz_zone_destroy() do so themselves.
 * \return as mrz_arena_build(); -EBADF once closed.
 */
MRZ_API int mrz_arena_grow(mrz_arena* arena, uint64_t size);

/** In a secondary process, maps the windows that the primary has added since. \return as mrz_arena_attach(). */
MRZ_API int mrz_arena_refresh(mrz_arena* arena);

/** \return the socket id for DPDK's allocation calls (256 and above). */
MRZ_API int mrz_arena_socket_id(const mrz_arena* arena);

/** Fills in \p info. \return 0. */
MRZ_API int mrz_arena_describe(const mrz_arena* arena, struct mrz_arena_info* info);

/**
 * Fills in \p counts. Waits while a window becomes memory of the heap.
 * \param domain one of the arena's, whose regions are counted; NULL: none.
 * \return 0; -EINVAL (the arena is not in that domain); -ENOTSUP (in a child of fork()).
 */
MRZ_API int mrz_arena_snapshot(const mrz_arena* arena, const mrz_domain* domain, struct mrz_arena_counts* counts);

/**
 * Says what one key over each window costs, and why, a line a window. Parameters and return as mrz_domain_name().
 */
MRZ_API int mrz_arena_explain(const mrz_arena* arena, char* text, size_t size);

/**
 * Lends the arena's own region in a domain that holds \p length bytes at \p address. Each window has two there, one
 * over the block and one over the header page, where DPDK puts what fits; they grant local write, and nothing to
 * peers. \param out lent until the arena is closed. \return 0; -EINVAL (the arena is not in that domain); -EFAULT
 * (the memory is not in the arena, or lies over the end of a header page, as what DPDK allocates from an arena that
 * is nearly full may); -EBADF once closed.
 */
MRZ_API int mrz_arena_region(const mrz_arena* arena, const mrz_domain* domain, const void* address, uint64_t length,
                             const mrz_region** out);

/**
 * Makes all windows, and those to come, known to the device of an Ethernet port (rte_dev_dma_map), until the arena is
 * closed. Doing so again does nothing.
 * \return 1 if the device was told; 0 if there is nothing to map, as for a device of software; on failure nothing is
 *         mapped: -ENODEV (no such port); -ENOTSUP (its bus or kernel driver maps no memory); -EPERM (the EAL's IOVAs
 *         are physical addresses, and hidden); -EBADF once closed; and whatever the device's driver says.
 */
MRZ_API int mrz_arena_map_for(mrz_arena* arena, uint16_t port);

/**
 * Gives all memory back. The handle is still to be given to mrz_arena_destroy(). Closing again does nothing.
 * \return 0; -EBUSY if something lives in it, and then nothing has changed.
 */
MRZ_API int mrz_arena_close(mrz_arena* arena);

/** Frees the handle, and closes the arena when its last zone is gone too; memory that DPDK still uses is kept. */
MRZ_API void mrz_arena_destroy(mrz_arena* arena);

/* ---- Zones ----------------------------------------------------------------------------------------------------- */

/**
 * Carves a zone of exactly \p size bytes from an arena: an rte_memzone.
 * \param name 1 to 31 characters, unique among memzones.
 * \param access enum mrz_access, combined: what its keys are to grant; see mrz_zone_region().
 * \param align a power of two of at most 2 GiB, of which the address becomes a multiple; 0: 64.
 * \param out to be given to mrz_zone_destroy().
 * \return 0; -EINVAL (also rights that contradict each other or do not exist, or remote ones in an arena without
 *         domains), -ENAMETOOLONG; -EEXIST (the name is taken); -ENOMEM (no window has so much left in one piece);
 *         -ENOSPC (the EAL has no room for another memzone); -EBADF once closed; and as mrz_region_register().
 */
MRZ_API int mrz_zone_reserve(mrz_arena* arena, const char* name, uint64_t size, uint32_t access, uint64_t align,
                             mrz_zone** out);

/** \return the first byte; NULL for NULL. Valid as long as the zone lives. */
MRZ_API void* mrz_zone_address(const mrz_zone* zone);

/** \return bytes, as asked for; 0 for NULL. */
MRZ_API uint64_t mrz_zone_size(const mrz_zone* zone);

/** \return the rights that it was reserved with, enum mrz_access combined; 0 for NULL. */
MRZ_API uint32_t mrz_zone_access(const mrz_zone* zone);

/** \return DPDK's own description, as long as the zone lives; not to be freed by the caller. NULL for NULL. */
MRZ_API const struct rte_memzone* mrz_zone_memzone(const mrz_zone* zone);

/**
 * Lends the region to use the zone with in a domain; its iova is the virtual address. With a remote right: one of the
 * zone's own, over exactly its bytes and with exactly its rights. Without: the arena's, which is larger and grants
 * local write whatever the zone's rights; only where none of the arena's holds the whole zone, one of its own.
 * \param out lent as long as the zone lives.
 * \return 0; -EINVAL (the arena is not in that domain).
 */
MRZ_API int mrz_zone_region(const mrz_zone* zone, const mrz_domain* domain, const mrz_region** out);

/** Says what one key over exactly this zone costs, and why: a line. Parameters and return as mrz_domain_name(). */
MRZ_API int mrz_zone_explain(const mrz_zone* zone, char* text, size_t size);

/** Deregisters what is the zone's own, and gives its memory back to the arena. */
MRZ_API void mrz_zone_destroy(mrz_zone* zone);

/* ---- Telemetry ------------------------------------------------------------------------------------------------- */

/**
 * Offers what arenas, domains, caches and page pools are, as /mrzone/… to the clients of DPDK's telemetry
 * (dpdk-telemetry.py), until the process ends; the EAL must be running. Doing so again does nothing.
 * \param text receives the path of the socket where clients connect; parameters and return as mrz_domain_name().
 * \return as well: -ENODEV (no EAL); -ENOTSUP (it has no telemetry, as under --no-telemetry or in a secondary
 * process).
 */
MRZ_API int mrz_telemetry_offer(char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif

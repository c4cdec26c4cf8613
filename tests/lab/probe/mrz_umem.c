// SPDX-License-Identifier: GPL-2.0
/*
 * Tells which page size the kernel chooses for each region that programs register with an RDMA device: what
 * ib_umem_find_best_pgsz() says of the region's own pinned memory, whether the device's driver asks it or not.
 *
 * /sys/kernel/debug/mrz_umem has a line for each of the last regions: address, length, iova, page shift (0: none
 * fits), and number of pages.
 */
#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the device");

static unsigned long page_sizes = 0x7ffff000;
module_param(page_sizes, ulong, 0444);
MODULE_PARM_DESC(page_sizes, "a bit for each page size that the device has");

/* What a task registers at the moment: its arguments, which ib_umem_get() is not told. */
struct registering {
	struct task_struct *task;
	u64 start, length, iova;
};

struct region {
	u64 start, length, iova;
	unsigned int page_shift;
	u64 pages;
};

#define MOST_TASKS 16
#define MOST_REGIONS 64

static DEFINE_SPINLOCK(lock);
static struct registering tasks[MOST_TASKS];
static struct region regions[MOST_REGIONS];
static u64 region_count;
static struct ib_device *ib_device;
static struct dentry *file;

static struct registering *find_task(struct task_struct *task)
{
	int i;

	for (i = 0; i < MOST_TASKS; i++)
		if (tasks[i].task == task)
			return &tasks[i];
	return NULL;
}

/* (struct ib_pd *, u64 start, u64 length, u64 iova, int access, …) of any driver */
static int enter_reg_user_mr(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct registering *slot;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	slot = find_task(NULL);
	if (slot) {
		slot->task = current;
		slot->start = regs_get_kernel_argument(regs, 1);
		slot->length = regs_get_kernel_argument(regs, 2);
		slot->iova = regs_get_kernel_argument(regs, 3);
	}
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int leave_reg_user_mr(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct registering *slot;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	slot = find_task(current);
	if (slot)
		slot->task = NULL;
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int leave_umem_get(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct ib_umem *umem = (struct ib_umem *)regs_return_value(regs);
	struct registering *slot;
	unsigned long flags;

	if (IS_ERR_OR_NULL(umem))
		return 0;
	spin_lock_irqsave(&lock, flags);
	slot = find_task(current);
	if (slot) { /* else of a queue */
		struct region *region = &regions[region_count++ % MOST_REGIONS];
		u64 iova = umem->iova; /* which asking sets */
		unsigned long size = ib_umem_find_best_pgsz(umem, page_sizes, slot->iova);

		region->start = slot->start;
		region->length = slot->length;
		region->iova = slot->iova;
		region->page_shift = size ? ilog2(size) : 0;
		region->pages = size ? ib_umem_num_dma_blocks(umem, size) : 0;
		umem->iova = iova;
	}
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct kretprobe on_reg_user_mr = {
	.entry_handler = enter_reg_user_mr,
	.handler = leave_reg_user_mr,
	.maxactive = MOST_TASKS,
};

static struct kretprobe on_umem_get = {
	.handler = leave_umem_get,
	.maxactive = MOST_TASKS,
	.kp.symbol_name = "ib_umem_get",
};

static int mrz_umem_show(struct seq_file *out, void *unused)
{
	u64 i;

	spin_lock_irq(&lock);
	for (i = region_count > MOST_REGIONS ? region_count - MOST_REGIONS : 0; i < region_count; i++) {
		const struct region *region = &regions[i % MOST_REGIONS];

		seq_printf(out, "0x%llx %llu 0x%llx %u %llu\n", region->start, region->length, region->iova,
			   region->page_shift, region->pages);
	}
	spin_unlock_irq(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mrz_umem);

static int __init mrz_umem_init(void)
{
	int error;

	ib_device = ib_device_get_by_name(device, RDMA_DRIVER_UNKNOWN);
	if (!ib_device)
		return -ENODEV;
	on_reg_user_mr.kp.addr = (kprobe_opcode_t *)ib_device->ops.reg_user_mr;
	error = register_kretprobe(&on_reg_user_mr);
	if (error)
		goto put;
	error = register_kretprobe(&on_umem_get);
	if (error)
		goto forget;
	file = debugfs_create_file("mrz_umem", 0400, NULL, NULL, &mrz_umem_fops);
	return 0;

forget:
	unregister_kretprobe(&on_reg_user_mr);
put:
	ib_device_put(ib_device);
	return error;
}

static void __exit mrz_umem_exit(void)
{
	debugfs_remove(file);
	unregister_kretprobe(&on_umem_get);
	unregister_kretprobe(&on_reg_user_mr);
	ib_device_put(ib_device);
}

module_init(mrz_umem_init);
module_exit(mrz_umem_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Page sizes that ib_umem_find_best_pgsz() chooses for regions");

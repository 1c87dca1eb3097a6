// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/tacet: the ioctls of ioctl.h, and nothing else.
 *
 * Copies each request in once, checks its revision, calls the function that serves it and
 * copies it back. A user who may open the device may use the partition; a request that
 * changes the machine needs CAP_SYS_ADMIN too.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "arch/arch.h"
#include "border/border.h"
#include "compat.h"
#include "doors/doors.h"
#include "memory/memory.h"
#include "partition/partition.h"
#include "process/process.h"
#include "tacet.h"

union any_request {
	u32 revision;
	struct tacet_up up;
	struct tacet_down down;
	struct tacet_resize resize;
	struct tacet_resize_memory resize_memory;
	struct tacet_status status;
	struct tacet_cpu_status cpu_status;
	struct tacet_host_self host_self;
	struct tacet_decouple decouple;
	struct tacet_recouple recouple;
	struct tacet_list list;
	struct tacet_profile_read profile;
	struct tacet_log_read log_read;
	struct tacet_test_hook test;
	struct tacet_job_begin job_begin;
	struct tacet_job_end job_end;
	struct tacet_job_list job_list;
};

static int do_up(struct file *file, union any_request *request)
{
	int error;

	request->up.message[0] = 0;
	if (!capable(CAP_SYS_MODULE))	/* the image is code for the kernel's own mode */
		return tacet_complain(request->up.message, -EPERM, "image: giving one needs CAP_SYS_MODULE");
	if (request->up.reserved || (request->up.fail_step && !tacet_test_hooks) ||
	    request->up.waived & ~TACET_MEASURE_ONE_USER || request->up.spared & ~TACET_MEASURES_ALL)
		return -EINVAL;
	error = tacet_topology_learn(&request->up);
	if (error)
		return error;
	error = -EINTR;
	if (!mutex_lock_killable(&tacet_control_lock)) {
		error = tacet_partition_up(&request->up);
		mutex_unlock(&tacet_control_lock);
	}
	tacet_topology_learned();
	return error;
}

static int do_down(struct file *file, union any_request *request)
{
	request->down.message[0] = 0;
	if (request->down.flags & ~TACET_DOWN_RECOUPLE)
		return -EINVAL;
	return tacet_partition_down(&request->down);
}

static int do_grow(struct file *file, union any_request *request)
{
	request->resize.message[0] = 0;
	return request->resize.reserved ? -EINVAL : tacet_partition_grow(&request->resize);
}

static int do_shrink(struct file *file, union any_request *request)
{
	request->resize.message[0] = 0;
	return request->resize.reserved ? -EINVAL : tacet_partition_shrink(&request->resize);
}

static int do_grow_memory(struct file *file, union any_request *request)
{
	request->resize_memory.message[0] = 0;
	return tacet_memory_join(&request->resize_memory);
}

static int do_shrink_memory(struct file *file, union any_request *request)
{
	request->resize_memory.message[0] = 0;
	return tacet_memory_leave(&request->resize_memory);
}

static int do_status(struct file *file, union any_request *request)
{
	return tacet_read_status(&request->status);
}

static int do_cpu_status(struct file *file, union any_request *request)
{
	return tacet_read_cpu_status(&request->cpu_status);
}

static int do_log_read(struct file *file, union any_request *request)
{
	return tacet_read_log(&request->log_read);
}

static int do_host_self(struct file *file, union any_request *request)
{
	return tacet_request_host_self(file, &request->host_self);
}

static int do_decouple(struct file *file, union any_request *request)
{
	if (request->decouple.pid <= 0)
		return -EINVAL;
	return tacet_request_decouple(request->decouple.pid, request->decouple.cpu,
			      request->decouple.flags);
}

static int do_recouple(struct file *file, union any_request *request)
{
	if (request->recouple.pid <= 0 || request->recouple.reserved)
		return -EINVAL;
	return tacet_request_recouple(request->recouple.pid, request->recouple.flags);
}

static int do_list(struct file *file, union any_request *request)
{
	return tacet_read_list(&request->list);
}

static int do_profile(struct file *file, union any_request *request)
{
	return tacet_read_profile(file, &request->profile);
}

static int do_job_begin(struct file *file, union any_request *request)
{
	request->job_begin.message[0] = 0;
	return request->job_begin.reserved || request->job_begin.job.apart ?
		       -EINVAL : tacet_job_begin(&request->job_begin);
}

static int do_job_end(struct file *file, union any_request *request)
{
	request->job_end.message[0] = 0;
	return tacet_job_end(&request->job_end);
}

static int do_job_list(struct file *file, union any_request *request)
{
	return tacet_job_list(&request->job_list);
}

/* What a program could read on a core if the processor let it: all that is the partition's. */
static int find_mark(void)
{
	const struct tacet_partition *partition = &tacet_partition;
	unsigned long found = 0, page, i;
	const u64 *words;
	unsigned int n;

	for (n = 0; n < partition->block_count; n++)
		for (page = 0; page < partition->blocks[n].pages; page++) {
			if (tacet_bad_has(partition->blocks[n].pfn + page))
				continue;
			words = pfn_to_kaddr(partition->blocks[n].pfn + page);
			for (i = 0; i < PAGE_SIZE / sizeof(*words); i++)
				found += READ_ONCE(words[i]) == TACET_TEST_MARK;
			cond_resched();
		}
	tacet_report(TACET_LOG_INFO, "test: the mark is in the partition's memory %lu times", found);
	return 0;
}

static void count_marks(u64 physical, u64 bytes, void *found)
{
	const u64 *words;
	u64 done, i;

	for (done = 0; done < bytes; done += PAGE_SIZE) {
		if (tacet_bad_has(PHYS_PFN(physical + done)))
			continue;
		words = __va(physical + done);
		for (i = 0; i < PAGE_SIZE / sizeof(*words); i++)
			*(unsigned long *)found += READ_ONCE(words[i]) == TACET_TEST_MARK;
		cond_resched();
	}
}

/* The same, in what the core has mapped now. */
static int find_mapped_mark(const struct tacet_core *core)
{
	u64 root = READ_ONCE(core->shared->active_root) ?: core->shared->boot.root;
	unsigned long found = 0;

	tacet_tables_visit(root, count_marks, &found);
	tacet_report(TACET_LOG_INFO, "test: cpu %u maps the mark %lu times", core->cpu, found);
	return 0;
}

static int do_test(struct file *file, union any_request *request)
{
	struct tacet_core *core = tacet_core_of(request->test.cpu);

	if (!tacet_test_hooks)
		return -EPERM;
	if (!core || !core->started || request->test.reserved)
		return -ENODEV;
	if (request->test.test == TACET_TEST_FIND)
		return find_mark();
	if (request->test.test == TACET_TEST_FIND_MAPPED)
		return find_mapped_mark(core);
	if (request->test.test == TACET_TEST_NONE || request->test.test > TACET_TEST_LAST)
		return -EINVAL;
	WRITE_ONCE(core->shared->test, request->test.test);
	tacet_attention(core, TACET_ATTENTION_TEST);
	return 0;
}

/* `root`: needs CAP_SYS_ADMIN. `locked`: under the control lock; the others take it themselves. */
static const struct call {
	unsigned int number;
	int (*serve)(struct file *file, union any_request *request);
	bool root, locked;
} calls[] = {
	{ TACET_UP, do_up, true, false },
	{ TACET_DOWN, do_down, true, true },
	{ TACET_STATUS, do_status, false, true },
	{ TACET_CPU_STATUS, do_cpu_status, false, true },
	{ TACET_HOST_SELF, do_host_self, false, false },
	{ TACET_DECOUPLE, do_decouple, false, false },
	{ TACET_RECOUPLE, do_recouple, false, false },
	{ TACET_LIST, do_list, false, false },
	{ TACET_LOG_READ, do_log_read, true, true },
	{ TACET_TEST, do_test, true, true },
	{ TACET_PROFILE, do_profile, false, false },
	{ TACET_GROW, do_grow, true, true },
	{ TACET_SHRINK, do_shrink, true, true },
	{ TACET_GROW_MEMORY, do_grow_memory, true, true },
	{ TACET_SHRINK_MEMORY, do_shrink_memory, true, true },
	{ TACET_JOB_BEGIN, do_job_begin, true, true },
	{ TACET_JOB_END, do_job_end, true, false },
	{ TACET_JOB_LIST, do_job_list, false, true },
};

static int serve(const struct call *call, struct file *file, union any_request *request)
{
	int result;

	if (!call->locked)
		return call->serve(file, request);
	if (mutex_lock_killable(&tacet_control_lock))
		return -EINTR;
	result = call->serve(file, request);
	mutex_unlock(&tacet_control_lock);
	return result;
}

static long control(struct file *file, unsigned int number, unsigned long argument)
{
	const struct call *call = NULL;
	union any_request *request;
	unsigned int i;
	long result;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].number == number)
			call = &calls[i];
	if (!call)
		return -ENOTTY;
	if (call->root && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	result = -EFAULT;
	if (copy_from_user(request, (void __user *)argument, _IOC_SIZE(number)))
		goto out;
	result = -EPROTO;
	if (request->revision != TACET_ABI_REVISION)
		goto out;
	result = serve(call, file, request);
	if (_IOC_DIR(number) & _IOC_READ &&
	    copy_to_user((void __user *)argument, request, _IOC_SIZE(number)))
		result = -EFAULT;
out:
	kfree(request);
	return result;
}

/* An open file keeps its profile, if it has one. */
static int open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return 0;
}

static int release(struct inode *inode, struct file *file)
{
	tacet_profile_put(file->private_data);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.unlocked_ioctl = control,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tacet",
	.fops = &operations,
	.mode = 0600,
};

int tacet_control_init(void)
{
	return misc_register(&device);
}

void tacet_control_exit(void)
{
	misc_deregister(&device);
}

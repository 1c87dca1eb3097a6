// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Which step of a request fails. Each step that can fail in the kernel asks here: an allocation, a step of hotplug, the
 * question whether the caller is killed. A caller that is killed stays so for the rest of its request. */
#include "world.h"

static unsigned int failing, step;
static bool failed, killed;
static unsigned int allocated;

void fault_arm(unsigned int at)
{
	failing = at;
	step = 0;
	failed = killed = false;
}

bool fault_here(void)
{
	bool fails = failing && ++step == failing;

	failed |= fails;
	return fails;
}

bool fault_was(void)
{
	return failed;
}

bool fatal_signal_pending(void *task)
{
	(void)task;
	killed |= fault_here();
	return killed;
}

int mutex_lock_killable(struct mutex *lock)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	take(lock);
	return 0;
}

void *kzalloc(size_t bytes, gfp_t gfp)
{
	(void)gfp;
	if (fault_here())
		return NULL;
	allocated++;
	return calloc(1, bytes);
}

void kfree(void *place)
{
	allocated -= place != NULL;
	free(place);
}

unsigned int allocations(void)
{
	return allocated;
}

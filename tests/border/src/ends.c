// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The C end as callable functions: the inline functions of ring.h, and the sizes of structures in C. */
#include <tacet/context.h>
#include <tacet/cpu.h>
#include <tacet/image.h>
#include <tacet/ioctl.h>

int c_ring_push(struct tacet_ring *ring, __u32 value);
int c_ring_pop(struct tacet_ring *ring, __u32 *value);
unsigned long c_size(int which);

int c_ring_push(struct tacet_ring *ring, __u32 value)
{
	return tacet_ring_push(ring, value);
}

int c_ring_pop(struct tacet_ring *ring, __u32 *value)
{
	return tacet_ring_pop(ring, value);
}

unsigned long c_size(int which)
{
	static const unsigned long sizes[] = {
		sizeof(struct tacet_registers), sizeof(struct tacet_context),
		sizeof(struct tacet_cpu), sizeof(struct tacet_ring), sizeof(struct tacet_log),
		sizeof(struct tacet_image_header), sizeof(struct tacet_up),
		sizeof(struct tacet_status), sizeof(struct tacet_thread),
		offsetof(struct tacet_cpu, attention), offsetof(struct tacet_cpu, outbox),
		offsetof(struct tacet_context, state), TACET_UP, TACET_TEST,
	};

	return which < (int)(sizeof(sizes) / sizeof(sizes[0])) ? sizes[which] : 0;
}

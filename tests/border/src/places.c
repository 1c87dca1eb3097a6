// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Where a range lies, as functions: the inline functions of linux/memory/places.h. */
#include <memory/places.h>

__u64 c_place(__u32 random, unsigned int attempt, int image);
int c_leaves_room(__u64 base, __u64 mmap_base);
__u32 c_top(__u32 random);
__u32 c_heap(__u32 random, __u32 used);
unsigned int c_borders(void);
__u64 c_border(__u32 random, unsigned int borders, __u64 first, __u64 end, __u64 alignment);

__u64 c_place(__u32 random, unsigned int attempt, int image)
{
	return tacet_place(random, attempt, image);
}

int c_leaves_room(__u64 base, __u64 mmap_base)
{
	return tacet_place_leaves_room(base, mmap_base);
}

__u32 c_top(__u32 random)
{
	return tacet_place_top(random);
}

__u32 c_heap(__u32 random, __u32 used)
{
	return tacet_place_heap(random, used);
}

unsigned int c_borders(void)
{
	return TACET_IMAGE_BORDERS;
}

__u64 c_border(__u32 random, unsigned int borders, __u64 first, __u64 end, __u64 alignment)
{
	return tacet_image_border(random, borders, first, end, alignment);
}

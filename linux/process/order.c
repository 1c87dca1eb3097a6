// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which the threads of a job are bound to CPUs (TACET_HOST_BIND).
 *
 * Owns struct tacet_order: made with the request, shared by the process and its hosted
 * children, freed with the last of them. The request says which CPUs and in which order: the
 * command knows the topology and what the user asked for.
 */
#include <linux/slab.h>

#include "process/process.h"
#include "tacet.h"

/* The order of a checked request. ERR_PTR: a wrong CPU, or no memory. */
struct tacet_order *tacet_order_new(const struct tacet_host_self *request,
				    const struct cpumask *cpus)
{
	struct tacet_order *order;
	unsigned int i;

	if (!request->order_count || request->order_count > TACET_MAX_CPUS)
		return ERR_PTR(-EINVAL);
	order = kzalloc(struct_size(order, slots, request->order_count), GFP_KERNEL_ACCOUNT);
	if (!order)
		return ERR_PTR(-ENOMEM);
	kref_init(&order->references);
	order->count = request->order_count;
	for (i = 0; i < order->count; i++) {
		unsigned int cpu = request->order[i];

		if (cpu >= nr_cpu_ids || !cpumask_test_cpu(cpu, cpus) || !tacet_core_of(cpu)) {
			kfree(order);
			return ERR_PTR(-EINVAL);
		}
		order->slots[i].core = tacet_core_of(cpu);
	}
	return order;
}

static void free_order(struct kref *references)
{
	kfree(container_of(references, struct tacet_order, references));
}

/* @order may be NULL. */
void tacet_order_put(struct tacet_order *order)
{
	if (order)
		kref_put(&order->references, free_order);
}

/* The slot of the next thread, which may go to @cpus: the first of those with the fewest
 * threads. NULL: @cpus has none of them. */
struct tacet_order_slot *tacet_order_next(struct tacet_order *order, const struct cpumask *cpus)
{
	struct tacet_order_slot *best = NULL;
	unsigned int i;

	lockdep_assert_held(&tacet_hosted_lock);
	for (i = 0; i < order->count; i++) {
		struct tacet_order_slot *slot = &order->slots[i];

		if (cpumask_test_cpu(slot->core->cpu, cpus) &&
		    (!best || slot->threads < best->threads))
			best = slot;
	}
	return best;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The partition as a whole: taken, started, stopped and given back. Calls every folder
 * below; doors/ and main.c call it.
 */
#ifndef TACET_PARTITION_PARTITION_H
#define TACET_PARTITION_PARTITION_H

#include "tacet.h"

struct tacet_job;

/* burial.c, partition.c: the module comes and goes. Sleep; take the control lock. */
int tacet_partition_init(void);
void tacet_partition_exit(void);

/* trust.c: sleeps, with the control lock held */
bool tacet_image_trusted(const void *image, size_t bytes);

/* partition.c: sleep, with the control lock held */
int tacet_partition_up(struct tacet_up *request);
int tacet_partition_down(struct tacet_down *request);

/* resize.c: sleep, with the control lock held */
int tacet_partition_grow(struct tacet_resize *request);
int tacet_partition_shrink(struct tacet_resize *request);
int tacet_cores_await_deserted(const struct cpumask *cpus, char *message);	/* for jobs.c */

/* memory.c: sleep, with the control lock held */
int tacet_memory_join(struct tacet_resize_memory *request);
int tacet_memory_leave(struct tacet_resize_memory *request);
u64 tacet_jobs_unpromised(void);	/* jobs.c: bytes that no job may have for itself */

/* kept.c; control lock held */
void tacet_cores_lend(const u64 *words);
void tacet_cores_use(const struct cpumask *cpus);
void tacet_cores_keep(const struct cpumask *cpus);
void tacet_cores_own(const struct cpumask *cpus);
u64 tacet_core_kept_ms(const struct tacet_core *core);

/* jobs.c: sleep; with the control lock held, but for _end, which takes it itself */
int tacet_job_begin(struct tacet_job_begin *request);
int tacet_job_end(struct tacet_job_end *request);
void tacet_jobs_drop(void);
void tacet_write_cpus(const struct cpumask *cpus, u64 *words);

/* job_list.c: sleeps, with the control lock held */
int tacet_job_list(struct tacet_job_list *request);

/* apart.c: sleep, with the control lock held */
int tacet_apart_begin(struct tacet_job *job);
int tacet_apart_end(struct tacet_job *job);
bool tacet_apart_holds(unsigned int number);
void tacet_apart_drop(struct tacet_job *job);
bool tacet_apart_leaves_core(const struct cpumask *cpus);

/* The rest is for the folder's own files; control lock held, sleeps. */
void tacet_partition_end(enum tacet_partition_state after);

/* layout.c */
__printf(3, 4) int tacet_complain(char *message, int error, const char *format, ...);
int tacet_layout_check(struct tacet_up *request);
int tacet_layout_memory(struct tacet_up *request);
int tacet_layout_image(struct tacet_up *request);
int tacet_layout_cores(struct tacet_up *request);
void tacet_layout_end(void);

/* cores.c */
int tacet_cores_open(struct tacet_up *request);
void tacet_cores_close(void);
int tacet_cores_start(struct tacet_up *request);
void tacet_cores_stop(void);
int tacet_core_open(struct tacet_core *core, char *message);
int tacet_core_start(struct tacet_core *core, char *message);
void tacet_core_stop(struct tacet_core *core);

/* blocks.c */
int tacet_blocks_take(struct tacet_partition *partition, const struct tacet_node_memory *node);
bool tacet_blocks_some_movable(int node);
void tacet_blocks_give(struct tacet_partition *partition);
void tacet_block_give(struct tacet_block *block);
void *tacet_blocks_carve(struct tacet_partition *partition, size_t *used, size_t bytes);

/* compaction.c */
int tacet_compaction_restrain(struct tacet_up *request);
void tacet_compaction_release(void);

/* topology.c */
int tacet_topology_learn(const struct tacet_up *request);
void tacet_topology_learned(void);
int tacet_topology_keep(struct tacet_up *request);
void tacet_topology_forget(void);
int tacet_topology_publish(struct tacet_up *request);
int tacet_topology_publish_cpu(unsigned int cpu);
void tacet_topology_withdraw_cpu(unsigned int cpu);
void tacet_topology_withdraw(void);

/* hotplug.c; main.c calls the first two */
int tacet_hotplug_init(void);
void tacet_hotplug_exit(void);
int tacet_hotplug_take(struct tacet_core *core);
int tacet_hotplug_give(struct tacet_core *core);
void tacet_hotplug_settle(void);

#endif

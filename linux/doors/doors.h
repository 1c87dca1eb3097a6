/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requests of user space. Only main.c and the doors themselves call these functions.
 */
#ifndef TACET_DOORS_DOORS_H
#define TACET_DOORS_DOORS_H

#include "tacet.h"

/* doors/device.c: /dev/tacet */
int tacet_control_init(void);
void tacet_control_exit(void);

/* doors/sysfs.c: /sys/kernel/tacet */
int tacet_sysfs_init(void);
void tacet_sysfs_exit(void);

/* doors/requests.c: sleep */
int tacet_request_host_self(struct file *file, const struct tacet_host_self *request);
int tacet_request_decouple(pid_t pid, u32 cpu, u32 flags);
int tacet_request_recouple(pid_t pid, u32 flags);

/* doors/status.c; the last two with the control lock held */
int tacet_read_list(struct tacet_list *request);
int tacet_read_status(struct tacet_status *request);
int tacet_read_cpu_status(struct tacet_cpu_status *request);

/* doors/log.c: control lock held */
int tacet_read_log(struct tacet_log_read *request);

#endif

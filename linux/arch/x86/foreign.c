// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of the two other ABIs that a 64-bit program can use, each with the number of the 64-bit
 * call that does the same. Only data and two searches; abi.c asks. Calls that differ in the layout
 * of an argument (times, sizes) stand for the same call: who reads such an argument must know.
 *
 * Must be complete: a call that is missing here is one that nobody recognises, and all rights of
 * the program end with it (pico/linux/meaning.c). Also compiled on the host by tests/grants.
 */
#include <linux/types.h>
#include <asm/unistd.h>

#include "arch/x86/foreign.h"

#define IA32_READ 3		/* the only one whose 64-bit number is 0 */
#define X32_FIRST 512

/* 0: Linux has no such call, but for IA32_READ. Of socketcall() the function that passes descriptors
 * counts. */
static const u16 ia32[] = {
	[0] = __NR_restart_syscall, [1] = __NR_exit, [2] = __NR_fork, [3] = __NR_read,
	[4] = __NR_write, [5] = __NR_open, [6] = __NR_close, [7] = __NR_wait4, [8] = __NR_creat,
	[9] = __NR_link, [10] = __NR_unlink, [11] = __NR_execve, [12] = __NR_chdir,
	[13] = __NR_time, [14] = __NR_mknod, [15] = __NR_chmod, [16] = __NR_lchown,
	[18] = __NR_stat, [19] = __NR_lseek, [20] = __NR_getpid, [21] = __NR_mount,
	[22] = __NR_umount2, [23] = __NR_setuid, [24] = __NR_getuid, [25] = __NR_settimeofday,
	[26] = __NR_ptrace, [27] = __NR_alarm, [28] = __NR_fstat, [29] = __NR_pause,
	[30] = __NR_utime, [33] = __NR_access, [34] = __NR_setpriority, [36] = __NR_sync,
	[37] = __NR_kill, [38] = __NR_rename, [39] = __NR_mkdir, [40] = __NR_rmdir, [41] = __NR_dup,
	[42] = __NR_pipe, [43] = __NR_times, [45] = __NR_brk, [46] = __NR_setgid,
	[47] = __NR_getgid, [48] = __NR_rt_sigaction, [49] = __NR_geteuid, [50] = __NR_getegid,
	[51] = __NR_acct, [52] = __NR_umount2, [54] = __NR_ioctl, [55] = __NR_fcntl,
	[57] = __NR_setpgid, [59] = __NR_uname, [60] = __NR_umask, [61] = __NR_chroot,
	[62] = __NR_ustat, [63] = __NR_dup2, [64] = __NR_getppid, [65] = __NR_getpgrp,
	[66] = __NR_setsid, [67] = __NR_rt_sigaction, [68] = __NR_rt_sigprocmask,
	[69] = __NR_rt_sigprocmask, [70] = __NR_setreuid, [71] = __NR_setregid,
	[72] = __NR_rt_sigsuspend, [73] = __NR_rt_sigpending, [74] = __NR_sethostname,
	[75] = __NR_setrlimit, [76] = __NR_getrlimit, [77] = __NR_getrusage,
	[78] = __NR_gettimeofday, [79] = __NR_settimeofday, [80] = __NR_getgroups,
	[81] = __NR_setgroups, [82] = __NR_select, [83] = __NR_symlink, [84] = __NR_lstat,
	[85] = __NR_readlink, [86] = __NR_uselib, [87] = __NR_swapon, [88] = __NR_reboot,
	[89] = __NR_getdents, [90] = __NR_mmap, [91] = __NR_munmap, [92] = __NR_truncate,
	[93] = __NR_ftruncate, [94] = __NR_fchmod, [95] = __NR_fchown, [96] = __NR_getpriority,
	[97] = __NR_setpriority, [99] = __NR_statfs, [100] = __NR_fstatfs, [101] = __NR_ioperm,
	[102] = __NR_sendmsg, [103] = __NR_syslog, [104] = __NR_setitimer, [105] = __NR_getitimer,
	[106] = __NR_stat, [107] = __NR_lstat, [108] = __NR_fstat, [109] = __NR_uname,
	[110] = __NR_iopl, [111] = __NR_vhangup, [114] = __NR_wait4, [115] = __NR_swapoff,
	[116] = __NR_sysinfo, [117] = __NR_semop, [118] = __NR_fsync, [119] = __NR_rt_sigreturn,
	[120] = __NR_clone, [121] = __NR_setdomainname, [122] = __NR_uname, [123] = __NR_modify_ldt,
	[124] = __NR_adjtimex, [125] = __NR_mprotect, [126] = __NR_rt_sigprocmask,
	[127] = __NR_create_module, [128] = __NR_init_module, [129] = __NR_delete_module,
	[130] = __NR_get_kernel_syms, [131] = __NR_quotactl, [132] = __NR_getpgid,
	[133] = __NR_fchdir, [135] = __NR_sysfs, [136] = __NR_personality, [137] = __NR_afs_syscall,
	[138] = __NR_setfsuid, [139] = __NR_setfsgid, [140] = __NR_lseek, [141] = __NR_getdents,
	[142] = __NR_select, [143] = __NR_flock, [144] = __NR_msync, [145] = __NR_readv,
	[146] = __NR_writev, [147] = __NR_getsid, [148] = __NR_fdatasync, [149] = __NR__sysctl,
	[150] = __NR_mlock, [151] = __NR_munlock, [152] = __NR_mlockall, [153] = __NR_munlockall,
	[154] = __NR_sched_setparam, [155] = __NR_sched_getparam, [156] = __NR_sched_setscheduler,
	[157] = __NR_sched_getscheduler, [158] = __NR_sched_yield,
	[159] = __NR_sched_get_priority_max, [160] = __NR_sched_get_priority_min,
	[161] = __NR_sched_rr_get_interval, [162] = __NR_nanosleep, [163] = __NR_mremap,
	[164] = __NR_setresuid, [165] = __NR_getresuid, [167] = __NR_query_module,
	[168] = __NR_poll, [169] = __NR_nfsservctl, [170] = __NR_setresgid, [171] = __NR_getresgid,
	[172] = __NR_prctl, [173] = __NR_rt_sigreturn, [174] = __NR_rt_sigaction,
	[175] = __NR_rt_sigprocmask, [176] = __NR_rt_sigpending, [177] = __NR_rt_sigtimedwait,
	[178] = __NR_rt_sigqueueinfo, [179] = __NR_rt_sigsuspend, [180] = __NR_pread64,
	[181] = __NR_pwrite64, [182] = __NR_chown, [183] = __NR_getcwd, [184] = __NR_capget,
	[185] = __NR_capset, [186] = __NR_sigaltstack, [187] = __NR_sendfile, [188] = __NR_getpmsg,
	[189] = __NR_putpmsg, [190] = __NR_vfork, [191] = __NR_getrlimit, [192] = __NR_mmap,
	[193] = __NR_truncate, [194] = __NR_ftruncate, [195] = __NR_stat, [196] = __NR_lstat,
	[197] = __NR_fstat, [198] = __NR_lchown, [199] = __NR_getuid, [200] = __NR_getgid,
	[201] = __NR_geteuid, [202] = __NR_getegid, [203] = __NR_setreuid, [204] = __NR_setregid,
	[205] = __NR_getgroups, [206] = __NR_setgroups, [207] = __NR_fchown, [208] = __NR_setresuid,
	[209] = __NR_getresuid, [210] = __NR_setresgid, [211] = __NR_getresgid, [212] = __NR_chown,
	[213] = __NR_setuid, [214] = __NR_setgid, [215] = __NR_setfsuid, [216] = __NR_setfsgid,
	[217] = __NR_pivot_root, [218] = __NR_mincore, [219] = __NR_madvise,
	[220] = __NR_getdents64, [221] = __NR_fcntl, [224] = __NR_gettid, [225] = __NR_readahead,
	[226] = __NR_setxattr, [227] = __NR_lsetxattr, [228] = __NR_fsetxattr,
	[229] = __NR_getxattr, [230] = __NR_lgetxattr, [231] = __NR_fgetxattr,
	[232] = __NR_listxattr, [233] = __NR_llistxattr, [234] = __NR_flistxattr,
	[235] = __NR_removexattr, [236] = __NR_lremovexattr, [237] = __NR_fremovexattr,
	[238] = __NR_tkill, [239] = __NR_sendfile, [240] = __NR_futex,
	[241] = __NR_sched_setaffinity, [242] = __NR_sched_getaffinity,
	[243] = __NR_set_thread_area, [244] = __NR_get_thread_area, [245] = __NR_io_setup,
	[246] = __NR_io_destroy, [247] = __NR_io_getevents, [248] = __NR_io_submit,
	[249] = __NR_io_cancel, [250] = __NR_fadvise64, [252] = __NR_exit_group,
	[253] = __NR_lookup_dcookie, [254] = __NR_epoll_create, [255] = __NR_epoll_ctl,
	[256] = __NR_epoll_wait, [257] = __NR_remap_file_pages, [258] = __NR_set_tid_address,
	[259] = __NR_timer_create, [260] = __NR_timer_settime, [261] = __NR_timer_gettime,
	[262] = __NR_timer_getoverrun, [263] = __NR_timer_delete, [264] = __NR_clock_settime,
	[265] = __NR_clock_gettime, [266] = __NR_clock_getres, [267] = __NR_clock_nanosleep,
	[268] = __NR_statfs, [269] = __NR_fstatfs, [270] = __NR_tgkill, [271] = __NR_utimes,
	[272] = __NR_fadvise64, [273] = __NR_vserver, [274] = __NR_mbind,
	[275] = __NR_get_mempolicy, [276] = __NR_set_mempolicy, [277] = __NR_mq_open,
	[278] = __NR_mq_unlink, [279] = __NR_mq_timedsend, [280] = __NR_mq_timedreceive,
	[281] = __NR_mq_notify, [282] = __NR_mq_getsetattr, [283] = __NR_kexec_load,
	[284] = __NR_waitid, [286] = __NR_add_key, [287] = __NR_request_key, [288] = __NR_keyctl,
	[289] = __NR_ioprio_set, [290] = __NR_ioprio_get, [291] = __NR_inotify_init,
	[292] = __NR_inotify_add_watch, [293] = __NR_inotify_rm_watch, [294] = __NR_migrate_pages,
	[295] = __NR_openat, [296] = __NR_mkdirat, [297] = __NR_mknodat, [298] = __NR_fchownat,
	[299] = __NR_futimesat, [300] = __NR_newfstatat, [301] = __NR_unlinkat,
	[302] = __NR_renameat, [303] = __NR_linkat, [304] = __NR_symlinkat, [305] = __NR_readlinkat,
	[306] = __NR_fchmodat, [307] = __NR_faccessat, [308] = __NR_pselect6, [309] = __NR_ppoll,
	[310] = __NR_unshare, [311] = __NR_set_robust_list, [312] = __NR_get_robust_list,
	[313] = __NR_splice, [314] = __NR_sync_file_range, [315] = __NR_tee, [316] = __NR_vmsplice,
	[317] = __NR_move_pages, [318] = __NR_getcpu, [319] = __NR_epoll_pwait,
	[320] = __NR_utimensat, [321] = __NR_signalfd, [322] = __NR_timerfd_create,
	[323] = __NR_eventfd, [324] = __NR_fallocate, [325] = __NR_timerfd_settime,
	[326] = __NR_timerfd_gettime, [327] = __NR_signalfd4, [328] = __NR_eventfd2,
	[329] = __NR_epoll_create1, [330] = __NR_dup3, [331] = __NR_pipe2,
	[332] = __NR_inotify_init1, [333] = __NR_preadv, [334] = __NR_pwritev,
	[335] = __NR_rt_tgsigqueueinfo, [336] = __NR_perf_event_open, [337] = __NR_recvmmsg,
	[338] = __NR_fanotify_init, [339] = __NR_fanotify_mark, [340] = __NR_prlimit64,
	[341] = __NR_name_to_handle_at, [342] = __NR_open_by_handle_at, [343] = __NR_clock_adjtime,
	[344] = __NR_syncfs, [345] = __NR_sendmmsg, [346] = __NR_setns,
	[347] = __NR_process_vm_readv, [348] = __NR_process_vm_writev, [349] = __NR_kcmp,
	[350] = __NR_finit_module, [351] = __NR_sched_setattr, [352] = __NR_sched_getattr,
	[353] = __NR_renameat2, [354] = __NR_seccomp, [355] = __NR_getrandom,
	[356] = __NR_memfd_create, [357] = __NR_bpf, [358] = __NR_execveat, [359] = __NR_socket,
	[360] = __NR_socketpair, [361] = __NR_bind, [362] = __NR_connect, [363] = __NR_listen,
	[364] = __NR_accept4, [365] = __NR_getsockopt, [366] = __NR_setsockopt,
	[367] = __NR_getsockname, [368] = __NR_getpeername, [369] = __NR_sendto,
	[370] = __NR_sendmsg, [371] = __NR_recvfrom, [372] = __NR_recvmsg, [373] = __NR_shutdown,
	[374] = __NR_userfaultfd, [375] = __NR_membarrier, [376] = __NR_mlock2,
	[377] = __NR_copy_file_range, [378] = __NR_preadv2, [379] = __NR_pwritev2,
	[380] = __NR_pkey_mprotect, [381] = __NR_pkey_alloc, [382] = __NR_pkey_free,
	[383] = __NR_statx, [384] = __NR_arch_prctl, [385] = __NR_io_pgetevents, [386] = __NR_rseq,
	[393] = __NR_semget, [394] = __NR_semctl, [395] = __NR_shmget, [396] = __NR_shmctl,
	[397] = __NR_shmat, [398] = __NR_shmdt, [399] = __NR_msgget, [400] = __NR_msgsnd,
	[401] = __NR_msgrcv, [402] = __NR_msgctl, [403] = __NR_clock_gettime,
	[404] = __NR_clock_settime, [405] = __NR_clock_adjtime, [406] = __NR_clock_getres,
	[407] = __NR_clock_nanosleep, [408] = __NR_timer_gettime, [409] = __NR_timer_settime,
	[410] = __NR_timerfd_gettime, [411] = __NR_timerfd_settime, [412] = __NR_utimensat,
	[413] = __NR_pselect6, [414] = __NR_ppoll, [416] = __NR_io_pgetevents,
	[417] = __NR_recvmmsg, [418] = __NR_mq_timedsend, [419] = __NR_mq_timedreceive,
	[420] = __NR_semtimedop, [421] = __NR_rt_sigtimedwait, [422] = __NR_futex,
	[423] = __NR_sched_rr_get_interval,
};

/* Those of x32 that have numbers of their own, from X32_FIRST on. */
static const u16 x32[] = {
	__NR_rt_sigaction, __NR_rt_sigreturn, __NR_ioctl, __NR_readv, __NR_writev, __NR_recvfrom,
	__NR_sendmsg, __NR_recvmsg, __NR_execve, __NR_ptrace, __NR_rt_sigpending, __NR_rt_sigtimedwait,
	__NR_rt_sigqueueinfo, __NR_sigaltstack, __NR_timer_create, __NR_mq_notify, __NR_kexec_load,
	__NR_waitid, __NR_set_robust_list, __NR_get_robust_list, __NR_vmsplice, __NR_move_pages,
	__NR_preadv, __NR_pwritev, __NR_rt_tgsigqueueinfo, __NR_recvmmsg, __NR_sendmmsg,
	__NR_process_vm_readv, __NR_process_vm_writev, __NR_setsockopt, __NR_getsockopt, __NR_io_setup,
	__NR_io_submit, __NR_execveat, __NR_preadv2, __NR_pwritev2,
};

long tacet_ia32_call(u32 number)
{
	if (number >= TACET_SAME_CALLS_FROM)
		return number;
	if (number >= sizeof(ia32) / sizeof(ia32[0]) || (!ia32[number] && number != IA32_READ))
		return TACET_CALL_UNKNOWN;
	return ia32[number];
}

long tacet_x32_call(u32 number)
{
	if (number < X32_FIRST)
		return number;
	number -= X32_FIRST;
	return number < sizeof(x32) / sizeof(x32[0]) ? x32[number] : TACET_CALL_UNKNOWN;
}

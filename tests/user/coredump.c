/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A core dump has the registers of every thread, also of threads that computed on a core. */
#include "check.h"
#include "corefile.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/procfs.h>
#include <sys/resource.h>
#include <sys/user.h>

#define MARK 0x7ace7c0de0000000

static int running;

static void *spin_marked(void *unused)
{
	asm volatile("mov %1, %%r12\n movq %%r12, %%xmm9\n lock incl %0\n 1: jmp 1b"
		     : "+m"(running) : "r"(MARK + 1) : "r12", "xmm9");
	return unused;
}

static void *block_marked(void *unused)
{
	asm volatile("mov %1, %%r12\n mov $34, %%eax\n lock incl %0\n syscall"
		     : "+m"(running) : "r"(MARK + 2) : "r12", "rax", "rcx", "r11", "memory");
	return unused;
}

static void crash(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	pthread_t thread;

	CHECK(setrlimit(RLIMIT_CORE, &all) == 0);
	CHECK(!pthread_create(&thread, NULL, spin_marked, NULL) && !pthread_create(&thread, NULL, block_marked, NULL));
	wait_until(load(&running) == 2);
	sleep_ms(3);
	asm volatile("mov %0, %%r12\n movl $1, (%1)" : : "r"(MARK), "r"(8L) : "r12", "memory");
}

/* Returns which of the three marks are in r12 of a thread, and the signal of the first thread. */
static int marks(int fd, int *sig)
{
	static char notes[1 << 20];
	size_t bytes = read_notes(fd, notes, sizeof(notes));
	int found = 0;

	for (size_t at = 0; at < bytes;) {
		Elf64_Nhdr *note = (void *)(notes + at);
		char *data = note_data(note);

		if (note->n_type == NT_PRSTATUS) {
			struct elf_prstatus *status = (void *)data;
			uint64_t r12 = ((struct user_regs_struct *)status->pr_reg)->r12;

			if (!found)
				*sig = status->pr_cursig;
			if (r12 - MARK < 3)
				found |= 1 << (r12 - MARK);
		}
		at = data + (note->n_descsz + 3) / 4 * 4 - notes;
	}
	return found;
}

int main(void)
{
	char pattern[128] = { 0 }, uses_pid = 0;
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY), sig = 0, status;

	CHECK(fd >= 0 && read(fd, pattern, 127) > 0 && close(fd) == 0);
	status = child_status(crash);
	CHECK(killed_by(status, SIGSEGV));
	say("killed\n");
	/* the dump can be read only if dumps are plain files in the program's directory */
	fd = open("/proc/sys/kernel/core_uses_pid", O_RDONLY);
	CHECK(fd < 0 || (read(fd, &uses_pid, 1) == 1 && close(fd) == 0));
	if (!strcmp(pattern, "core\n") && uses_pid != '1') {
		CHECK(WCOREDUMP(status));
		fd = open("core", O_RDONLY);
		CHECK(fd >= 0 && marks(fd, &sig) == 7 && sig == SIGSEGV);
	}
	say("dumped\n");
	return 0;
}

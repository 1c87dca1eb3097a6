/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * badpage FILE: owns a page, writes the number of its frame into FILE, and uses the page for ever. If Linux says that the
 * page's memory is bad, and names the page, it ends with status 42. Needs root, to learn the number.
 */
#include "door.h"

#include <signal.h>
#include <sys/mman.h>

static char *page;

static void on_bus(int signal, siginfo_t *info, void *frame)
{
	char *at = info->si_addr;

	(void)signal, (void)frame;
	_exit(info->si_code != BUS_MCEERR_AR ? 3 : at < page || at >= page + 4096 ? 4 : 42);
}

/* Linux knows the frame once the page has been given to a call. */
static uint64_t frame_of(char *address, int null)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	if (write(null, address, 1) != 1 || pagemap < 0 ||
	    pread(pagemap, &entry, 8, (uintptr_t)address / 4096 * 8) != 8)
		_exit(5);
	close(pagemap);
	return entry & ((1ull << 55) - 1);
}

int main(int count, char **words)
{
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	int pipes[2], file;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (count < 2 || page == MAP_FAILED || pipe(pipes) || sigaction(SIGBUS, &action, NULL))
		return 6;
	page[0] = 1;
	file = open(words[1], O_WRONLY | O_CREAT, 0644);
	dprintf(file, "%llu\n", (unsigned long long)frame_of(page, pipes[1]));
	close(file);
	for (;;)
		(*(volatile char *)page)++;
}

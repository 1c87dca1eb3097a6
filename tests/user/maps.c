/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The mappings that a process sees as its own, whichever kernel backs them. */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>

static char text[65536];

static char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n, size = 0;

	CHECK(fd >= 0);
	while ((n = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += n;
	text[size] = 0;
	CHECK(n == 0 && close(fd) == 0);
	return text;
}

int main(void)
{
	char *p = private_pages(3), line[64];
	Elf64_auxv_t *aux;

	p[0] = 1;
	CHECK(sbrk(4096) != (void *)-1);	/* now a heap exists */
	CHECK(mprotect(p + 4096, 4096, PROT_READ | PROT_EXEC) == 0 && mprotect(p + 8192, 4096, PROT_NONE) == 0);
	read_file("/proc/self/maps");
	snprintf(line, sizeof(line), "%lx-%lx r-xp", (long)p + 4096, (long)p + 8192);
	CHECK(strstr(text, line) && strstr(text, "[stack]") && strstr(text, "[heap]") && strstr(text, "[vdso]"));
	snprintf(line, sizeof(line), "%lx-", (long)p + 8192);
	CHECK(strstr(text, line));
	read_file("/proc/self/auxv");
	for (aux = (Elf64_auxv_t *)text; aux->a_type != AT_PAGESZ; aux++)
		CHECK(aux->a_type != AT_NULL);
	CHECK(aux->a_un.a_val == 4096);
	say("memory map\n");
	return 0;
}

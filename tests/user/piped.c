/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A page that a pipe has is unmapped while another thread reads it. Once the call has returned, that thread's next read
 * must be a SIGSEGV: when the pipe is empty, the frame is another's.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/uio.h>

#define PAGE 4096ul
#define BYTES (2ul << 20)
#define ROUNDS 3

static const volatile char *page;
static volatile int reads, gone, told, too_late;
static sigjmp_buf back;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(sig == SIGSEGV && info->si_addr == page);
	told = 1;
	siglongjmp(back, 1);
}

/* The thread makes no call, so nothing but a flush makes its core forget the page. */
static void *read_on(void *unused)
{
	if (!sigsetjmp(back, 1)) {
		while (!too_late) {
			int was_gone = gone;

			(void)*page;
			reads = 1;
			too_late = was_gone;
		}
	}
	return unused;
}

static char *filled(size_t bytes, char c)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return memset(p, c, bytes);
}

static void unmap_what_a_pipe_has(void)
{
	char *area = filled(BYTES, 'a'), sink[PAGE];
	struct iovec piece = { area + 2 * PAGE, PAGE };
	pthread_t reader;
	int ends[2];

	reads = gone = told = too_late = 0;
	page = piece.iov_base;
	CHECK(pipe(ends) == 0);
	CHECK(pthread_create(&reader, NULL, read_on, NULL) == 0);
	while (!reads)
		sleep_ms(1);
	CHECK(vmsplice(ends[1], &piece, 1, 0) == PAGE);
	CHECK(munmap(piece.iov_base, PAGE) == 0);
	gone = 1;
	CHECK(pthread_join(reader, NULL) == 0);
	CHECK(told && !too_late);
	CHECK(read(ends[0], sink, PAGE) == PAGE && sink[0] == 'a' && sink[PAGE - 1] == 'a');
	CHECK(munmap(area, BYTES) == 0);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	for (int round = 0; round < ROUNDS; round++)
		unmap_what_a_pipe_has();
	say("a reader is told\n");
	return 0;
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need gdb gcc
cat >spin.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
volatile int answer = 42, go_on = 1;
volatile long progress;
static int deeper(int level)
{
	while (go_on)
		progress++;
	return level;
}
static void *thread(void *unused) { deeper(7); return unused; }
/* Done when the thread counts: it is in deeper(). */
static void announce(void) { while (!progress) usleep(10000); fclose(fopen("begun", "w")); }
int main(void)
{
	pthread_t t;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	pthread_create(&t, 0, thread, 0);
	announce();
	pthread_join(t, 0);
	return answer == 43 ? 0 : 1;
}
C
gcc -g -O0 -pthread -o spin spin.c || exit 1
export DEBUGINFOD_URLS=

./spin &
pid=$!
while [ ! -e begun ]; do sleep 0.05; done
# attach to the spinning program, read and change variables, let it continue and end
gdb -nx -q -batch -p $pid -ex 'set confirm off' \
	-ex 'printf "answer is %d\n", answer' -ex 'thread apply all -q bt' \
	-ex 'set var answer = 43' -ex 'detach' >attached 2>errors </dev/null
grep -o 'answer is [0-9]*' attached
grep -c 'deeper (level=7)' attached
gdb -nx -q -batch -p $pid -ex 'printf "moving %d\n", progress > 0' -ex 'set var go_on = 0' -ex 'detach' 2>>errors </dev/null | grep -o 'moving 1'
wait $pid
echo "ended with $?"

# from the start: a breakpoint, a condition, a watchpoint, steps
gdb -nx -q -batch -ex 'set debuginfod enabled off' -ex 'set startup-with-shell off' -ex 'break deeper' -ex 'run' -ex 'print level' -ex 'next' -ex 'next' -ex 'next' \
	-ex 'set can-use-hw-watchpoints 1' -ex 'watch progress if progress > 100' -ex 'continue' -ex 'print progress' \
	-ex 'delete' -ex 'set var go_on = 0' -ex 'set var answer = 43' -ex 'continue' ./spin >stepped 2>>errors </dev/null
grep -E '^\$[0-9]+ = ' stepped
grep -o 'exited normally' stepped

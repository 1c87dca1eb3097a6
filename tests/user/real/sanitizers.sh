#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Programs built with gcc's sanitizers, which know where a program's memory lies: right ones, and wrong ones that are found.
. "$(dirname "$0")/lib"
need gcc
cat >program.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int counted;

static void *work(void *wrong)
{
	int *numbers = malloc(1000 * sizeof(*numbers));

	for (int i = 0; i < 1000; i++)
		numbers[i] = i;
	if (wrong)
		counted += numbers[*(int *)wrong];
	else
		__atomic_fetch_add(&counted, numbers[999], __ATOMIC_RELAXED);
	free(numbers);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[4];
	int index = count > 1 ? atoi(arguments[1]) : 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, count > 1 ? &index : NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", counted);
	return 0;
}
C
for sanitizer in thread undefined address; do
	gcc -O1 -g -pthread -fsanitize=$sanitizer program.c -o $sanitizer || exit
	echo "$sanitizer: $(./$sanitizer 2>&1)"
done
./thread 999 2>&1 | grep -o 'data race' | sort -u
./address 1000 2>&1 | grep -o 'heap-buffer-overflow' | sort -u

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need gcc make
cat >sieve.c <<'C'
#include <stdio.h>
#include <string.h>
static char composite[200000];
int count(void);
int main(void) { printf("%d primes\n", count()); return 0; }
int count(void)
{
	int n = 0;
	for (long i = 2; i < (long)sizeof(composite); i++) {
		if (composite[i]) continue;
		n++;
		for (long j = i * i; j < (long)sizeof(composite); j += i) composite[j] = 1;
	}
	return n;
}
C
cat >Makefile <<'MAKE'
all: sieve0 sieve2 sieve3
sieve0 sieve2 sieve3: sieve%: sieve.c
	@gcc -pipe -O$* -g -Wall -o $@ $<
MAKE
make -s -j3 && ./sieve0 && ./sieve2 && ./sieve3
echo 'int main(void) { return undeclared; }' >bad.c
gcc bad.c 2>/dev/null; echo "bad: $?"

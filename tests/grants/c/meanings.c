/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Says what the module thinks of calls. Each line of the input is one: its ABI (64, ia32, x32), number and two arguments.
 * Each line of the output: the 64-bit number, the first and the last descriptor that may change (or -1 -1), whether
 * the file may, and whether the call is simple.
 */
#include <stdio.h>
#include <string.h>

#include "arch/x86/foreign.h"
#include "delegate/kinds.h"
#include "pico/linux/meaning.h"

int main(void)
{
	struct tacet_change change;
	unsigned long long first, second;
	char abi[8];
	long number;

	while (scanf("%7s %ld %llu %llu", abi, &number, &first, &second) == 4) {
		if (!strcmp(abi, "ia32"))
			number = tacet_ia32_call(number);
		else if (!strcmp(abi, "x32"))
			number = tacet_x32_call(number);
		if (!tacet_call_changes(number, first, second, &change))
			change.first = change.last = -1;
		printf("%ld %d %d %d %d\n", number, change.first, change.last,
		       tacet_call_changes_file(number, second), tacet_call_is_simple(number));
	}
	return 0;
}

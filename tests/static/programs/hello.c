/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The smallest program with standard I/O. */
#include <stdio.h>

int main(void)
{
	puts("hello");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The same as userfault.c, with a descriptor of /dev/userfaultfd, which no call of that name has made. */
#define OF_THE_DEVICE
#include "userfault.c"

int main(void)
{
	return serve_faults();
}

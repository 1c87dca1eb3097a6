// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Computes until it is killed, without a call: what a neighbouring CPU executes besides it is somebody else's work.
 *
 * usage: spin
 */
int main(void)
{
	volatile unsigned long rounds = 0;

	for (;;)
		rounds++;
}

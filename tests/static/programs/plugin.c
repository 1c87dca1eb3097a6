/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A library that load.c loads while it runs. Not a program. */
int plugin_value = 5;
static __thread int own = 3;

int plugin_add(int number);

int plugin_add(int number)
{
	return plugin_value + own + number;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Kinds of calls, by number as of a 64-bit program: kinds.c. Pure; also compiled on the host by tests/grants. */
#ifndef TACET_DELEGATE_KINDS_H
#define TACET_DELEGATE_KINDS_H

#include <linux/types.h>

bool tacet_call_is_plain(long number);
bool tacet_call_is_simple(long number);

#endif

// SPDX-License-Identifier: Apache-2.0 OR MIT
/* For which recalls Linux waits, as a function: the inline function of linux/process/recalled.h. */
#include <process/recalled.h>

int c_recall_returns(__u32 recall);

int c_recall_returns(__u32 recall)
{
	return tacet_recall_returns(recall);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For a program: snprintf. */
#include <stdio.h>

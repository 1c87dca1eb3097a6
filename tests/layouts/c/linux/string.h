/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For a program: the functions of the same names. */
#include <string.h>

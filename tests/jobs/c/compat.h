/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* In the place of linux/compat.h: what differs between kernels does not matter here. */

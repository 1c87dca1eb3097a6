/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* What the files of tests share. */
#ifndef TACET_SLURM_TEST_H
#define TACET_SLURM_TEST_H

void expect(const char *file, int line, int holds, const char *what);
void test_life(void);

#define EXPECT(holds) expect(__FILE__, __LINE__, !!(holds), #holds)

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/* Small files of text. */
#ifndef TACET_SLURM_FILE_H
#define TACET_SLURM_FILE_H

#include <stdbool.h>
#include <stddef.h>

bool file_read_line(const char *path, char *line, size_t size);
bool file_write_line(const char *path, const char *line);
bool file_make_folder(const char *path);
void file_remove(const char *path);
int file_lock_folder(const char *path);
int file_try_lock(const char *path);
bool file_rename(const char *from, const char *to);
bool file_any(const char *folder, const char *ending, bool (*visit)(const char *name));

#endif

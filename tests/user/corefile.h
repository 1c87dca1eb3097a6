/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The notes of a core file: of each thread some, its general registers first. */
#ifndef TACET_TESTS_USER_COREFILE_H
#define TACET_TESTS_USER_COREFILE_H

#include "check.h"

#include <elf.h>

/* Fills @notes, and returns how many bytes they have. */
static inline size_t read_notes(int fd, char *notes, size_t most)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment = { 0 };

	CHECK(pread(fd, &header, sizeof(header), 0) == sizeof(header) && header.e_type == ET_CORE);
	for (int i = 0; segment.p_type != PT_NOTE; i++)
		CHECK(pread(fd, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment)) == sizeof(segment));
	CHECK(segment.p_filesz < most && pread(fd, notes, segment.p_filesz, segment.p_offset) == (ssize_t)segment.p_filesz);
	return segment.p_filesz;
}

/* The bytes of a note from its head to the next one's. */
static inline char *note_data(Elf64_Nhdr *note)
{
	return (char *)(note + 1) + (note->n_namesz + 3) / 4 * 4;
}

#endif

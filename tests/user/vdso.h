/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Find a function of the vDSO by name, without the C library. */
#ifndef TACET_TESTS_USER_VDSO_H
#define TACET_TESTS_USER_VDSO_H

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

static inline void *vdso_symbol(const char *name)
{
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)base;
	const Elf64_Phdr *segment;
	const Elf64_Dyn *dynamic = NULL;
	const Elf64_Sym *symbols = NULL;
	const char *names = NULL;

	if (!base)
		return NULL;
	segment = (const void *)(base + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(base + segment[i].p_vaddr);
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const void *)(base + dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_STRTAB)
			names = base + dynamic->d_un.d_ptr;
	}
	/* the symbols end where the names begin */
	for (; symbols && names && (const char *)symbols < names; symbols++)
		if (symbols->st_shndx != SHN_UNDEF && !strcmp(names + symbols->st_name, name))
			return (void *)(base + symbols->st_value);
	return NULL;
}

#endif

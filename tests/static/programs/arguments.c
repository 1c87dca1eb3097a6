/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Arguments, environment and auxiliary vector arrive as on Linux. */
#include <elf.h>
#include <sys/auxv.h>

#include "../../user/check.h"

extern char **environ;

int main(int argc, char **argv)
{
	const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
	int variables = 0, zeros = 0;

	for (int i = 1; i < argc; i++)
		say("argument %d: %s\n", i, argv[i]);
	CHECK(argv[argc] == NULL);
	for (char **variable = environ; *variable; variable++)
		variables += !strncmp(*variable, "TACET_TEST_", 11);
	say("variables: %d, %s\n", variables, getenv("TACET_TEST_WORDS"));
	CHECK(getauxval(AT_PAGESZ) == 4096);
	CHECK(getauxval(AT_PHNUM) > 2 && getauxval(AT_PHENT) == sizeof(Elf64_Phdr));
	CHECK(getauxval(AT_SECURE) == 0 && getauxval(AT_UID) == getuid() && getauxval(AT_EGID) == getegid());
	CHECK(!strcmp(strrchr((char *)getauxval(AT_EXECFN), '/'), strrchr(argv[0], '/')));
	for (int i = 0; i < 16; i++)
		zeros += random[i] == 0;
	CHECK(zeros < 16);
	say("auxiliary vector: good\n");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Loads a library while it runs: its name is the argument. */
#include <dlfcn.h>

#include "../../user/check.h"

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "none", RTLD_NOW), *none;
	int (*plus)(int), *value;

	if (!library)
		say("%s\n", dlerror());
	CHECK(library);
	*(void **)&plus = dlsym(library, "plugin_add");
	value = dlsym(library, "plugin_value");
	CHECK(plus && value);
	say("added: %d\n", plus(1));
	*value = 100;
	say("added: %d\n", plus(1));
	CHECK(dlclose(library) == 0);
	none = dlopen("/nowhere/plugin.so", RTLD_NOW);
	CHECK(!none);
	say("closed\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * How the module hears of what Linux does to a device: it is called when Linux enters certain of its
 * functions, by Linux's function tracer.
 *
 * A revocation that is not heard costs data. So the probes are permanent: while they are on nobody
 * can switch the tracer off (`kernel.ftrace_enabled`), and where it is off they refuse to go on.
 * Kprobes would fall silent with it, or with their own switch, and tell nobody. Linux also stops the
 * tracer by itself when it finds a mistake: so each look enters a function of our own that all probes
 * have to hear.
 *
 * Called by pages.c, devices.c and the folders of devices.
 *
 * TRICK permanent operations of the function tracer: functions of Linux that end a grant are watched
 * by ftrace; `kernel.ftrace_enabled=0` is refused meanwhile.
 * BREAKS a function that is inlined, renamed or entered in another way; a tracer that stopped.
 * NOTICED `tacet_probes_work()` at each look; without it there are no grants; scenario `nvme.sh deaf`.
 */
#include <linux/kprobes.h>
#include <linux/slab.h>

#include "pico/linux/probes.h"
#include "tacet.h"

/* Between a function's address, its traced instruction, and what Linux says of both (ENDBR64). */
#define ENTRY_BYTES 4ul

static LIST_HEAD(all);		/* those that are on; control lock */
/* Where the function below is. In a variable: the compiler would make an address of the sum, which is no function's. */
static unsigned long test_at;

/* Nobody but tests of the tracer enters it. */
static noinline void entered_for_test(void)
{
	asm volatile("" ::: "memory");
}

static bool is_at(unsigned long ip, unsigned long at)
{
	return ip - at + ENTRY_BYTES <= 2 * ENTRY_BYTES;
}

static void entered(unsigned long ip, unsigned long parent, struct ftrace_ops *operations,
		    struct ftrace_regs *traced)
{
	struct tacet_probes *probes = container_of(operations, struct tacet_probes, operations);
	const struct pt_regs *regs = ftrace_get_regs(traced);
	unsigned int i;

	if (is_at(ip, READ_ONCE(test_at))) {
		WRITE_ONCE(probes->heard, probes->heard + !!regs);
		return;
	}
	for (i = 0; i < probes->count && regs; i++)
		if (is_at(ip, probes->probes[i].at))
			probes->probes[i].entered(regs->di, regs->si);
}

/* Where a function is: a probe that is never on finds it. 0: there is none. */
static unsigned long address_of(const char *symbol)
{
	struct kprobe probe = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };
	unsigned long at;

	if (register_kprobe(&probe))
		return 0;
	at = (unsigned long)probe.addr;
	unregister_kprobe(&probe);
	return at;
}

static int choose(struct tacet_probes *probes)
{
	unsigned int i;
	int error;

	WRITE_ONCE(test_at, (unsigned long)entered_for_test);
	error = ftrace_set_filter_ip(&probes->operations, test_at, 0, 1);
	for (i = 0; i < probes->count && !error; i++) {
		struct tacet_probe *probe = &probes->probes[i];

		probes->missing = probe->symbol;
		probe->at = address_of(probe->symbol);
		error = probe->at ? ftrace_set_filter_ip(&probes->operations, probe->at, 0, 0) : -ENOENT;
	}
	return error;
}

static bool hears(struct tacet_probes *probes)
{
	unsigned long before = READ_ONCE(probes->heard);

	entered_for_test();
	return READ_ONCE(probes->heard) != before;
}

int tacet_probes_on(struct tacet_probes *probes)
{
	int error;

	lockdep_assert_held(&tacet_control_lock);
	probes->operations = (struct ftrace_ops){ .func = entered,
		.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT };
	error = choose(probes);
	if (!error) {
		probes->missing = "anything: its function tracer is off";
		error = register_ftrace_function(&probes->operations);
	}
	if (!error && !hears(probes)) {
		unregister_ftrace_function(&probes->operations);
		error = -ENODEV;
	}
	if (error) {
		ftrace_free_filter(&probes->operations);
		return error;
	}
	probes->missing = NULL;
	list_add(&probes->link, &all);
	return 0;
}

void tacet_probes_off(struct tacet_probes *probes)
{
	lockdep_assert_held(&tacet_control_lock);
	list_del(&probes->link);
	unregister_ftrace_function(&probes->operations);
	ftrace_free_filter(&probes->operations);
}

bool tacet_probes_work(void)
{
	struct tacet_probes *probes;
	bool work = true;

	lockdep_assert_held(&tacet_control_lock);
	list_for_each_entry(probes, &all, link)
		work &= hears(probes);
	return work;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The clock that a CPU asks the processor for, before the CPU goes and after it is back.
 *
 * When a CPU goes offline, Linux's drivers lower its request to the minimum, and INIT keeps
 * the register. So the request is read while the CPU is online; the core writes its own
 * (kernel/arch/src/x86_64/performance.rs decides). When the CPU comes online, Linux's driver
 * writes its request anew. Where no driver does, the CPU still has the core's, and gets back
 * what it had.
 *
 * Called by partition/partition.c with the control lock held. All functions sleep.
 */
#include <linux/cpufreq.h>
#include <linux/smp.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>

#include "arch/arch.h"
#include "compat.h"
#include "tacet.h"

#define HWP_ENABLED 1
#define CPPC_ENABLED 1
#define BUS_KHZ 100000u
#define BIAS_MASK 0xf

static bool read(u32 number, u64 *value)
{
	return !rdmsrq_safe(number, value);
}

/* By which register this CPU is asked, its value, and the most that may be asked for. In a
 * guest it is the host who decides. */
static void find_control(struct tacet_performance_state *state)
{
	u64 enabled, limits;

	state->control = TACET_PERFORMANCE_NONE;
	if (boot_cpu_has(X86_FEATURE_HYPERVISOR))
		return;
	if (boot_cpu_has(X86_FEATURE_HWP) && read(MSR_PM_ENABLE, &enabled) && enabled & HWP_ENABLED &&
	    read(MSR_HWP_REQUEST, &state->before) && read(MSR_HWP_CAPABILITIES, &limits)) {
		state->control = TACET_PERFORMANCE_HWP;
		state->highest = HWP_HIGHEST_PERF(limits);
	} else if (boot_cpu_has(X86_FEATURE_CPPC) && read(MSR_AMD_CPPC_ENABLE, &enabled) &&
		   enabled & CPPC_ENABLED && read(MSR_AMD_CPPC_REQ, &state->before) &&
		   read(MSR_AMD_CPPC_CAP1, &limits)) {
		state->control = TACET_PERFORMANCE_CPPC;
		state->highest = limits >> 24 & 0xff;
	} else if (boot_cpu_has(X86_FEATURE_EST) && state->allowed_khz &&
		   read(MSR_IA32_PERF_CTL, &state->before)) {
		state->control = TACET_PERFORMANCE_RATIO;
		state->highest = min(state->allowed_khz / BUS_KHZ, 0xffu);
	} else if (boot_cpu_has(X86_FEATURE_HW_PSTATE) && state->allowed_khz &&
		   read(MSR_AMD_PERF_CTL, &state->before)) {
		state->control = TACET_PERFORMANCE_STATE;
		/* Which state an administrator's limit means is in the firmware's tables. */
		state->highest = state->limited ? state->before & 7 : 0;
	}
}

static u32 register_of(u32 control)
{
	switch (control) {
	case TACET_PERFORMANCE_HWP:
		return MSR_HWP_REQUEST;
	case TACET_PERFORMANCE_CPPC:
		return MSR_AMD_CPPC_REQ;
	case TACET_PERFORMANCE_RATIO:
		return MSR_IA32_PERF_CTL;
	default:
		return MSR_AMD_PERF_CTL;
	}
}

/* On the CPU itself. */
static void save_here(void *data)
{
	struct tacet_performance_state *state = data;

	find_control(state);
	state->has_bias = !boot_cpu_has(X86_FEATURE_HYPERVISOR) && boot_cpu_has(X86_FEATURE_EPB) &&
			  read(MSR_IA32_ENERGY_PERF_BIAS, &state->bias);
}

/* The CPU is still Linux's. */
void tacet_arch_performance_save(struct tacet_core *core)
{
	struct tacet_performance_state *state = &core->performance;
	struct cpufreq_policy *policy = cpufreq_cpu_get(core->cpu);

	memset(state, 0, sizeof(*state));
	if (policy) {
		state->allowed_khz = READ_ONCE(policy->max);
		state->limited = state->allowed_khz < policy->cpuinfo.max_freq;
		cpufreq_cpu_put(policy);
	}
	/* A CPU that has gone in the meantime is not taken either. */
	smp_call_function_single(core->cpu, save_here, state, true);
}

/* On the CPU itself. What the core wrote and nobody since is not Linux's. */
static void restore_here(void *data)
{
	const struct tacet_core *core = data;
	const struct tacet_performance_state *state = &core->performance;
	u64 now, written = READ_ONCE(core->shared->performance_now);

	if (state->control && written && read(register_of(state->control), &now) && now == written)
		wrmsrq_safe(register_of(state->control), state->before);
	/* The core writes 0. */
	if (state->has_bias && read(MSR_IA32_ENERGY_PERF_BIAS, &now) && !(now & BIAS_MASK))
		wrmsrq_safe(MSR_IA32_ENERGY_PERF_BIAS, state->bias);
}

/* The CPU is Linux's again, and the core's pages still exist. */
void tacet_arch_performance_restore(struct tacet_core *core)
{
	smp_call_function_single(core->cpu, restore_here, core, true);
}

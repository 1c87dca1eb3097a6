// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The command line, by glibc's argp. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fwq.h"

enum { UNITS = 256, OVERSUBSCRIBE, SPLIT, LABEL };

static const struct argp_option known[] = {
	{ "mode", 'm', "start|step", 0, "One barrier before all quanta (StartSync), or one before each (StepSync) [start]", 0 },
	{ "kernel", 'k', "register|daxpy", 0, "What the measuring loop works on [register]", 0 },
	{ "quantum", 'q', "TIME", 0, "Length of a quantum; calibrated once, on rank 0, so that all ranks do the same work [6.5ms]", 0 },
	{ "units", UNITS, "COUNT", 0, "Units of work in a quantum, instead of a length", 0 },
	{ "duration", 'd', "TIME", 0, "How long to measure, without the time at barriers: 250us, 6.5ms, 10s, 5min, 1h [10s]", 0 },
	{ "samples", 'n', "COUNT", 0, "How many samples each rank takes, instead of a duration", 0 },
	{ "worst", 'w', "NODES", 0, "Keep the samples of this many nodes, those with the longest noise [100]", 0 },
	{ "oversubscribe", OVERSUBSCRIBE, NULL, 0, "Let ranks share CPUs: for a trial, not for a measurement", 0 },
	{ "split", SPLIT, "RANKS", 0, "Treat each group of this many ranks as a node, for example the NUMA domains of one machine", 0 },
	{ "label", LABEL, "TEXT", 0, "Name of the record [host name of rank 0]", 0 },
	{ "output", 'o', "FILE", 0, "File in which rank 0 writes the run, for `tacet noise collect` [fwq.run]", 0 },
	{ 0 }
};

static const struct { const char *name; double ns; } time_units[] = {
	{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "min", 60e9 }, { "h", 3600e9 },
};

static double duration(struct argp_state *state, const char *text)
{
	char *unit;
	double value = strtod(text, &unit);

	for (size_t i = 0; i < sizeof(time_units) / sizeof(*time_units); i++) {
		double ns = value * time_units[i].ns;

		if (unit != text && !strcmp(unit, time_units[i].name) && isfinite(ns) && ns > 0)
			return ns;
	}
	argp_failure(state, 2, 0, "`%s` is not a duration: write it as 250us, 6.5ms or 1h", text);
	exit(2);
}

static uint64_t count(struct argp_state *state, const char *text, uint64_t least)
{
	char *end;

	errno = 0;
	uint64_t value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || errno || value < least || value >= 1ull << 40) {
		argp_failure(state, 2, 0, "`%s` is not a count of %d or more", text, (int)least);
		exit(2);
	}
	return value;
}

static bool second_of(struct argp_state *state, const char *text, const char *first, const char *second)
{
	if (strcmp(text, first) && strcmp(text, second)) {
		argp_failure(state, 2, 0, "`%s` is neither %s nor %s", text, first, second);
		exit(2);
	}
	return !strcmp(text, second);
}

static error_t take(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'm': options->step_sync = second_of(state, text, "start", "step"); break;
	case 'k': options->daxpy = second_of(state, text, "register", "daxpy"); break;
	case 'q': options->quantum_ns = duration(state, text); break;
	case UNITS: options->units = count(state, text, 1); break;
	case 'd': options->duration_ns = duration(state, text); break;
	case 'n': options->samples = count(state, text, 1); break;
	case 'w': options->worst = count(state, text, 0); break;
	case OVERSUBSCRIBE: options->oversubscribe = true; break;
	case SPLIT: options->split = count(state, text, 1); break;
	case LABEL: options->label = text; break;
	case 'o': options->output = text; break;
	case ARGP_KEY_ARG:
		argp_failure(state, 2, 0, "`%s`: unexpected argument; only options are allowed", text);
		exit(2);
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const char *argp_program_version = "tacet-mpi-fwq " FWQ_VERSION;

void read_options(int argc, char **argv, struct options *options, bool speak)
{
	const struct argp argp = {
		.options = known, .parser = take,
		.doc = "Measures operating-system noise on all ranks at once by repeating fixed work (MPI-FWQ).",
	};

	*options = (struct options){ .quantum_ns = 6.5e6, .duration_ns = 10e9, .worst = 100, .output = "fwq.run" };
	argp_err_exit_status = 2;
	if (speak) {
		argp_parse(&argp, argc, argv, 0, NULL, options);
		return;
	}
	/* Only the rank that speaks prints errors and help; the others parse in silence. */
	int out = dup(1), err = dup(2), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(nowhere, 1);
	dup2(nowhere, 2);
	argp_parse(&argp, argc, argv, 0, NULL, options);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
	close(nowhere);
}

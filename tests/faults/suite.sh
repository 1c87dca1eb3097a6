# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# suite.sh: the programs of tests/user, on the partition, with the output that
# they have on Linux. Called by the runner with the name of a function.

. "$F/lib.sh"

# Real programs and Python's own tests are scenarios of their own: they take minutes.
suite() { # PATTERNS of programs to leave out, tacet run's arguments
	local except=$1
	shift
	up
	TACET_CPUS=2-3 TEST_EXCEPT="real/* $except" TEST_TIMEOUT=120 bash $U/run.sh $T run "$@" -- >suite.out 2>&1
	verdict
}

real() { # NAMES of real programs
	local name seconds
	seconds=$(full 60 180) # a tenth of what a program gets
	up
	for name in "$@"; do
		TACET_CPUS=2-3 TEST_ONLY="real/$name" TEST_TIMEOUT=$seconds TEST_REQUIRE=1 bash $U/run.sh $T run --follow -- >>suite.out 2>&1
	done
	verdict
}

verdict() {
	grep '^not ok' suite.out | sed 's/^not ok /fail: /'
	note "$(grep -c '^ok' suite.out) programs"
	until_true "nothing is hosted" hosted 0
	until_true "all memory is given back" given_back
	down
	grep -q '^ok' suite.out && ! grep -q '^not ok' suite.out || exit 1
}

# As on Linux in every respect, in the partition's memory and in Linux's.
exact() { suite '' --follow --no-populate; }
in_own_memory() { suite '' --memory all --follow --no-populate; }
in_linux_memory() { suite '' --memory linux --follow --no-populate; }

# Children run on Linux, where what they see of the CPUs is Linux's; and what was said of the place of memory that
# becomes Linux's for them is not known there.
alone() { suite 'cpuview* policy*' --no-populate; }

# In locked memory some calls behave otherwise, on Linux as here: a page is there
# before it is touched (userfault, procfs), and MADV_REMOVE is refused (memory).
locked() { suite 'userfault* procfs* memory*' --follow; }

programs() { real bash busybox coreutils gcc gdb mpi python strace; }
computing() { real allocators go hpcc java lammps openmp; }
stress() { real stress; }

# One of Python's own tests, or with FULL=1 all ten that are here: four minutes each.
python() {
	full "python-threading" 'python-*' >names
	set -f
	# shellcheck disable=SC2046  # words are meant
	real $(cat names)
}

scenario "$@"

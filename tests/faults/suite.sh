# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# suite.sh: the programs of tests/user, on the partition, with the output that
# they have on Linux. Called by the runner with the name of a function.

. "$F/lib.sh"
export TEST_TIMES=$PWD/times

# Real programs and Python's own tests are scenarios of their own: they take minutes.
suite() { # PATTERNS of programs to leave out, tacet run's arguments
	local except=$1
	shift
	up
	# shellcheck disable=SC2086  # may be nothing
	TACET_CPUS=2-3 TEST_EXCEPT="real/* $except" TEST_TIMEOUT=$((120 * ${SLOWNESS:-1})) bash $U/run.sh ${before:-} $T run "$@" -- >suite.out 2>&1
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

# A kernel that checks itself takes an hour for all programs, and does the same for many: these enter each file of
# linux/ that a program's calls, memory, children, signals and ends enter.
sampled() {
	local name
	up
	for name in anonymous_moves attach clone coredump cpuview direct exec fork futexes kept membarrier moved policy procfs \
		ptrace ringfutex rseq seccomp signals threads uring userfault vfork; do
		TACET_CPUS=2-3 TEST_ONLY=$name TEST_TIMEOUT=$((120 * SLOWNESS)) bash $U/run.sh $T run --follow -- >>suite.out 2>&1
	done
	verdict
}

# What handlers, tracers, core dumps and children see of a thread whose registers stay on its core during a call; and
# that they stay, on each kernel.
registers() {
	local name
	up
	$T run -- true
	! $T log | grep -q "calls get slower" || fail "$($T log | grep "calls get slower")"
	for name in kept xstate ptrace coredump signals fsgs pkeys fork; do
		TACET_CPUS=2-3 TEST_ONLY=$name TEST_TIMEOUT=$((60 * SLOWNESS)) bash $U/run.sh $T run --follow -- >>suite.out 2>&1
	done
	verdict
}

verdict() {
	grep '^not ok' suite.out | sed 's/^not ok /fail: /'
	note "$(grep -c '^ok' suite.out) programs"
	note "slowest: $(sort -rn "$TEST_TIMES" | head -n 8 | sed 's/\([0-9]*\) \(.*\)/\2 \1 s/' | paste -sd ' ')"
	until_true "nothing is hosted" hosted 0
	until_true "all memory is given back" given_back
	down
	grep -q '^ok' suite.out && ! grep -q '^not ok' suite.out || exit 1
}

# Statically linked, a program starts in another way, and then does the same: that is tried in one sort of memory.
linked=$(full '*-static *-static-pie' '')

# Programs that do the same in each sort of memory: one suite has them.
elsewhere=$(full 'abis* clocks* counters* cpubits* cpuview* eventfds* exits* fsgs* hostile* identity* ldt* limits*
	membarrier* pipes* pkeys* polling* registers* rseq* sigfp* sigspin* sleeps* sockets* terminal* timers* waits* xstate*' '')

# What is less about memory than about calls: each older kernel has a half of it, in its sort of memory.
one_half=$(full 'asleep attach exec mode32 seccomp signals uring' '')
other_half=$(full 'clone exceptions futexes moments ptrace sysv threads' '')

# "a program's data from the partition" has these in the same sort of memory.
of_data=$(full 'data-static data-static-pie' '')

# Its data are Linux's there as they are in the first suite.
own_data=$(full 'data' '')

# All programs, exactly as on Linux, in the partition's memory and in Linux's.
exact() {
	if [ "${SLOWNESS:-1}" -gt 1 ]; then sampled; else suite "$linked" --follow; fi
}
# Without randomisation small programs are moved, too.
in_own_memory() { before='setarch -R' suite "$elsewhere $one_half $of_data" --memory all --follow; }
in_linux_memory() {
	parameters halt=N
	suite "$linked $elsewhere $other_half $own_data" --memory linux --follow
}

# The same, and threads stay on Linux while they make many calls. These look at the CPU that they are on.
in_bursts() {
	parameters burst_us=2000
	suite "$linked $(full "$elsewhere" "") cpuview* rseq*" --burst auto --follow
}

# Children run on Linux, so they see Linux's view of the CPUs. Their parent's range is handed over to Linux, where NUMA
# policies of the range are not known.
alone() { suite 'cpuview* policy*'; }

# In locked memory some calls behave differently, on Linux too: a page exists before it is touched (userfault, procfs),
# MADV_REMOVE is refused (memory), and MS_INVALIDATE is (reserve).
locked() { suite 'userfault* procfs* memory* reserve*' --follow --populate; }

programs() { real bash busybox coreutils gcc gdb mpi python strace; }
computing() { real allocators go hpcc java lammps openmp sanitizers; }
stress() { real stress; }

# One of Python's own tests, or with FULL=1 all ten: four minutes each.
python() {
	full "python-threading" 'python-*' >names
	set -f
	# shellcheck disable=SC2046  # words are meant
	real $(cat names)
}

scenario "$@"

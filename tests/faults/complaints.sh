# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# complaints.sh: prints the lines of the kernel's log, since it was cleared, that
# no scenario may cause. Called by the runner; prints nothing if there are none.

dmesg | grep -E 'WARNING:|BUG:|Oops|blocked for more than|rcu.*(stall|detected)|soft lockup|hard LOCKUP|unable to handle|general protection fault, |refcount_t|Bad page|double fault|list_(add|del) corruption|UBSAN:|trying to register non-static key|locking correctness validator|stack guard|scheduling while atomic|sleeping function|Kernel panic' |
	grep -v 'traps: ' | head -5
dmesg | grep -A40 -E 'WARNING:|BUG:|Oops|blocked for more' | grep -E 'RIP:|^\[[^]]*\]  [_a-z][_a-z0-9.]*\+' | head -12
# After whatever it takes for a finding, lockdep is silent for good.
[ ! -e /proc/lockdep_stats ] || grep -q 'debug_locks: *1' /proc/lockdep_stats || echo "lockdep does not look any more"
exit 0

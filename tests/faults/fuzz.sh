# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# fuzz.sh: hostile input to the module, as root and as a user, with a partition
# up and down: 360,000 cases over the three kernels, with FULL=1 six million; and calls at the edges of their arguments.
# SEED repeats a run. Called by the runner with the name of a function.

. "$F/lib.sh"

seed=${SEED:-$((RANDOM * RANDOM + 1))}

# The requests also start and end partitions; a partition that is left is ended.
fuzz() { # CASES [UID]
	state 1 || up
	$Z/fuzz $D/lib/tacet/kernel.bin "$1" "$seed" $2 || fail "the fuzzer ended with $? (seed $seed)"
	# --force, because root's requests may also have hosted the shell and init.
	! state 1 || down --force
	until_true "nothing is hosted" hosted 0
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
}

root() {
	fuzz "$(often 15000 1000000)"
	up
	$T run -- $U/files >/dev/null || fail "files ended with $? afterwards"
	down
}

user() {
	chmod 666 /dev/tacet
	fuzz "$(often 15000 1000000)" 1000
	chmod 600 /dev/tacet
}

# Calls with arguments at their edges answer on cores what they answer on Linux, with the same CPUs.
calls() {
	taskset -c 2,3 $Z/edges "$seed" "$(often 12 200)" >native
	up
	$T run --follow -- $Z/edges "$seed" "$(often 12 200)" >hosted || fail "the calls ended with $? (seed $seed)"
	note "seed $seed: $(grep -c = hosted) calls"
	! grep -q '^fail' native hosted || fail "$(grep -h '^fail' native hosted | head -n 3)"
	cmp -s native hosted || fail "other answers (SEED=$seed): $(diff native hosted | head -n 6 | tr '\n' ';')"
	down
}

scenario "$@"

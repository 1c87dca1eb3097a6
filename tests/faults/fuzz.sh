# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# fuzz.sh: hostile input to the module, as root and as a user, with a partition
# up and down: 360,000 cases over the three kernels, with FULL=1 six million. SEED repeats a run. Called by the runner
# with the name of a function.

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
	fuzz "$(full 15000 1000000)"
	up
	$T run -- $U/files >/dev/null || fail "files ended with $? afterwards"
	down
}

user() {
	chmod 666 /dev/tacet
	fuzz "$(full 15000 1000000)" 1000
	chmod 600 /dev/tacet
}

scenario "$@"

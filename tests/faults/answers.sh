# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# answers.sh: how a core gets the answers to its calls. Called by the runner with the name of a function.

. "$F/lib.sh"

begin() { # MICROSECONDS: for which the core looks
	echo "$1" >/sys/module/tacet/parameters/core_looks_us || fail "no such parameter: $(tail -1 .stderr)"
	up --cpus 2
	victim calls
}

finish() {
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	down
}

# A core that looks for an answer is not rung for it; one that does not look is. Each round makes two calls.
looks() {
	local bells rounds
	begin 0
	bells=$(doorbells 2) rounds=$(rounds $rounds_file)
	until_true "a hundred rounds" more_than $((rounds + 100)) $rounds_file
	rounds=$(($(rounds $rounds_file) - rounds)) bells=$(($(doorbells 2) - bells))
	[ $bells -gt $rounds ] || fail "$bells doorbells for the answers of $rounds rounds"
	finish
	begin 10000
	rounds=$(rounds $rounds_file) bells=$(doorbells 2)
	until_true "a thousand rounds" more_than $((rounds + 1000)) $rounds_file
	bells=$(($(doorbells 2) - bells)) rounds=$(($(rounds $rounds_file) - rounds))
	[ $bells -lt $rounds ] || fail "$bells doorbells in $rounds rounds, though the core looks"
	note "$bells doorbells in $rounds rounds of two calls"
	finish
}

scenario "$@"

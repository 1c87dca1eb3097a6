# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# halts.sh: proxies whose CPU halts in their context (linux/delegate/halt.c). Called by the runner with the name of a
# function. Proxies halt by default, so in every scenario that does not say halt=N; all of them sleep with
# TACET_TEST_PARAMETERS="halt=N".

. "$F/lib.sh"

finish() {
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

# Interrupts that end halts, and those that wake proxies.
counts() {
	awk '$1 == "RES:" { res = $2 + $3 } $NF == "tacet" { own += $2 + $3 } END { print res + 0, own + 0 }' /proc/interrupts
}

grows() { # FIELD: does that one of counts grow a hundred times while the victim goes on?
	local before
	before=$(counts | cut -d" " -f"$1")
	until_true "a hundred interrupts" more_interrupts "$1" $((before + 100))
}

more_interrupts() { # FIELD NUMBER
	[ "$(counts | cut -d" " -f"$1")" -gt "$2" ]
}

# A core ends the halt of its thread's CPU by the interrupt that Linux's CPUs have for each other; without halts it wakes
# the proxy by its own. The parameter holds at once.
told() {
	parameters halt=Y proxy_looks_us=0
	up
	victim calls
	grows 1
	parameters halt=N
	grows 2
	alive $rounds_file
	parameters halt=Y
	grows 1
	finish
}

few_interrupts() { # a window with 50 calls and fewer than a fifth as many interrupts of either kind
	local before=$(counts) after calls=$(rounds $rounds_file)
	sleep 0.02
	after=$(counts)
	calls=$(($(rounds $rounds_file) - calls))
	[ $calls -ge 50 ] && [ $(((${after% *} - ${before% *} + ${after#* } - ${before#* }) * 5)) -lt $calls ]
}

# A CPU that watches for the answer is not interrupted for it. The emulator has the instructions, so they must be asked for.
watches() {
	parameters halt=Y proxy_looks_us=0 mwait=1
	up
	victim calls
	until_true "calls without interrupts" few_interrupts
	parameters mwait=0
	grows 1
	parameters mwait=1
	for _ in 1 2 3; do alive $rounds_file; done
	finish
}

# Each signal reaches a thread that computes or calls, while its proxy halts or does not: as many handlers run as signals
# were taken.
signals() {
	parameters halt=Y proxy_looks_us=0
	up
	victim signals
	for _ in 1 2 3 4 5; do alive $rounds_file; done
	stops_and_continues
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	down
}

# Programs of Linux that are bound to the proxy's CPU go on beside it, one that computes and one that sleeps and wakes;
# so does the thread.
shares() {
	local sleeper lines
	parameters halt=Y proxy_looks_us=0
	up
	taskset -c 0 $T run -- $F/victim calls calls.rounds &
	until_true "it begins" counted calls.rounds
	taskset -c 0 $F/victim compute compute.rounds &
	until_true "the one that computes begins" counted compute.rounds
	for _ in 1 2 3; do
		alive compute.rounds
		alive calls.rounds
	done
	kill -9 $!
	taskset -c 0 bash -c 'while echo >>woken; do sleep 0.01; done' &
	sleeper=$!
	until_true "the one that sleeps wakes" [ -s woken ]
	for _ in 1 2 3; do
		lines=$(wc -l <woken)
		until_true "it wakes again and again" woken_more $((lines + 10))
		alive calls.rounds
	done
	kill -9 $sleeper
	finish
}

woken_more() { # NUMBER
	[ "$(wc -l <woken)" -gt "$1" ]
}

# The CPU on which a proxy halts goes offline and comes back.
offline() {
	parameters halt=Y proxy_looks_us=0
	up
	taskset -c 1 $T run -- $F/victim calls calls.rounds &
	until_true "it begins" counted calls.rounds
	for _ in 1 2 3; do
		echo 0 >$cpus/cpu1/online || fail "cpu 1 does not go: $(tail -1 .stderr)"
		alive calls.rounds
		echo 1 >$cpus/cpu1/online || fail "cpu 1 does not come: $(tail -1 .stderr)"
		alive calls.rounds
	done
	finish
}

scenario "$@"

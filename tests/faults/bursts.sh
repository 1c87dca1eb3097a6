# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# bursts.sh: threads that stay on Linux while they make many calls (linux/process/burst.c). Called by the runner with the
# name of a function. A node executes some hundred times fewer instructions a second than a processor: bursts may be
# as many times longer.

. "$F/lib.sh"

begin() { # WAY
	parameters burst_us=20000
	up
	victim "$1" --burst auto
}

finish() {
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	until_true "its memory is given back" given_back
	down
}

listed() { # FIELD: of the victim's thread
	$T ps --json | python3 -c "import json, sys; print([t['$1'] for t in json.load(sys.stdin)['threads'] if t['pid'] == $victim][0])"
}

is() { # FIELD VALUE
	[ "$(listed "$1")" = "$2" ]
}

more() { # FIELD NUMBER
	[ "$(listed "$1")" -gt "$2" ]
}

# How many calls the victim forwards in a thousand rounds.
forwards() {
	local before=$(listed forwarded_calls) first=$(rounds $rounds_file)
	until_true "a thousand rounds" more_than $((first + 1000)) $rounds_file
	echo $((1000 * ($(listed forwarded_calls) - before) / ($(rounds $rounds_file) - first)))
}

# Each round makes two calls that Linux serves: of a thread that stays there few are forwarded. If another program wants
# its CPU it goes to its core, where it forwards all of them.
stays() {
	local forwarded hog
	parameters burst_us=20000
	up
	taskset -c 0 $T run --burst auto -- $F/victim calls calls.rounds &
	victim=$! rounds_file=calls.rounds
	until_true "it begins" counted calls.rounds
	is bursts 0 && fail "its beginning is no burst"
	forwarded=$(forwards)
	[ "$forwarded" -lt 1000 ] || fail "$forwarded calls were forwarded in a thousand rounds"
	taskset -c 0 $F/victim compute compute.rounds &
	hog=$!
	until_true "the other one computes" counted compute.rounds
	forwarded=$(forwards)
	[ "$forwarded" -gt 1000 ] || fail "only $forwarded calls were forwarded beside another program"
	kill -9 $hog
	alive calls.rounds
	finish
}

# One that computes goes to its core, and nothing brings it back.
computes() {
	local bursts
	begin compute
	until_true "it is on its core" is place running
	bursts=$(listed bursts)
	for _ in 1 2 3 4 5; do alive $rounds_file; done
	is bursts "$bursts" || fail "it left its core for a burst: $(listed bursts) of them, not $bursts"
	is place running || fail "it is not on its core: $(listed place)"
	finish
}

# Memory stays the partition's, whoever touches it: what it maps, touches and unmaps in bursts.
remembers() {
	begin faults
	until_true "bursts" more bursts 0
	for _ in 1 2 3 4 5; do alive $rounds_file; done
	$T log | grep "process $victim .*becomes Linux's" >said && fail "its memory went to Linux: $(cat said)"
	finish
}

# Signals and stops reach a thread in a burst, `recouple` and `down` end the burst, and the program continues.
ends() {
	local way
	for way in recouple down; do
		begin signals
		stops_and_continues
		if [ $way = recouple ]; then
			$T recouple $victim >/dev/null || fail "recouple ended with $?"
			until_true "it is Linux's" hosted 0
			alive $rounds_file
			finish
		else
			down --force
			alive $rounds_file
			kill -9 $victim
		fi
	done
}

scenario "$@"

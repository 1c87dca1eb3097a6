# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# moves.sh: programs that move to the partition and back, stop and continue, have
# children, execute other programs, or are many. Called by the runner with the name of a function.

. "$F/lib.sh"

finish() {
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

there_and_back() {
	local way pids files
	up
	for way in compute calls faults signals threads; do
		$F/victim $way $way.rounds & pids="$pids $!"
	done
	for way in compute calls faults signals threads; do
		until_true "$way begins" counted $way.rounds
	done
	$F/pingpong "$(often 100 1000)" $RANDOM 2 3 $pids || exit
	for way in compute calls faults signals threads; do alive $way.rounds; done
	finish
}

many_threads() {
	up
	$F/victim threads m.rounds &
	until_true "it begins" counted m.rounds
	for _ in 1 2 3 4 5; do
		[ "$($F/door decouple $!)" = ok ] || fail "decouple: $($F/door decouple $!)"
		until_true "its threads are hosted" at_least 6
		alive m.rounds
		[ "$($F/door recouple $!)" = ok ] || fail "recouple"
		hosted 0 || fail "after recouple: $($F/door status)"
		alive m.rounds
	done
	finish
}

at_least() { # NUMBER: are at least so many threads hosted?
	set -- "$1" $($F/door status)
	[ "$3" -ge "$1" ]
}

stop_and_go_on() {
	up
	for way in compute calls; do
		victim $way
		for _ in 1 2 3; do
			kill -STOP $victim
			until_true "$way stops" stopped $victim
			before=$(rounds $rounds_file)
			sleep 0.5
			[ "$(rounds $rounds_file)" = "$before" ] || fail "$way continues while stopped"
			kill -CONT $victim
			alive $rounds_file
		done
		hosted 1 || fail "$way is not hosted any more"
		kill -9 $victim
		until_true "nothing is hosted" hosted 0
	done
	finish
}

children() {
	up
	$T run -- bash -c "$F/victim compute c1.rounds & wait" &
	until_true "the child begins" counted c1.rounds
	$F/door list | grep -q 'bash$' || fail "the parent is not hosted"
	$F/door list | grep -q 'victim$' && fail "the child is hosted without --follow"
	$T run --follow -- bash -c "$F/victim compute c2.rounds & wait" &
	until_true "the child begins" counted c2.rounds
	until_true "the child is hosted" listed victim
	pkill -9 victim
	wait
	until_true "nothing is hosted" hosted 0
	down
}

listed() { # NAME
	$F/door list | grep -q " $1\$"
}

execute() {
	up
	$T run -- sh -c "exec sh -c 'exec $F/victim calls e.rounds'" &
	until_true "it begins" counted e.rounds
	listed victim || fail "it is not hosted after execve"
	alive e.rounds
	kill -9 $!
	ended $! 137
	$F/door run /nowhere && fail "it executed what is not there"
	[ "$($T run -- sh -c 'exit 42' >/dev/null; echo $?)" = 42 ] || fail "its exit status is lost"
	finish
}

files() {
	local here=/sys/kernel/tacet
	up
	$F/victim compute f.rounds &
	until_true "it begins" counted f.rounds
	echo $! >$here/decouple || fail "decouple does not take $!"
	until_true "it has a directory" test -d $here/$!
	grep -qx $! $here/decouple || fail "decouple does not list it"
	# By one descriptor: Linux's locks of a file that is read come in another order than those of one that is written.
	exec 3<>$here/decouple
	grep -qx $! <&3 || fail "decouple does not list it after it was opened to write"
	echo $! >&3 || fail "decouple does not take $! again"
	exec 3>&-
	for cpu in 3 2 3; do
		echo $cpu >$here/$!/cpu || fail "cpu does not take $cpu"
		[ "$(cat $here/$!/cpu)" = $cpu ] || fail "it is on $(cat $here/$!/cpu), not $cpu"
		alive f.rounds
	done
	(echo 1 >$here/$!/cpu) 2>/dev/null && fail "it moved to Linux's CPU 1"
	echo -1 >$here/$!/cpu || fail "cpu does not take -1"
	hosted 0 || fail "it is hosted after -1"
	alive f.rounds
	finish
}

# Requests about processes that are just being created or are ending.
births_and_deaths() {
	local seed=$((RANDOM * RANDOM + 1))
	up
	$F/churn "$(often 60 2000)" $seed || exit
	until_true "nothing is hosted" hosted 0
	[ -z "$(cat /sys/kernel/tacet/decouple)" ] || fail "decouple lists $(cat /sys/kernel/tacet/decouple)"
	down
	note "seed $seed"
}

# The files of a process that ends, read and written while the partition ends.
files_going() {
	local writer i
	(while :; do for f in /sys/kernel/tacet/[0-9]*/cpu; do echo 2 >$f; cat $f; done; done) >/dev/null 2>&1 &
	writer=$!
	for i in $(seq "$(often 5 100)"); do
		up
		victim calls
		victim calls
		down --force
		kill -9 $victim
	done
	kill -9 $writer
	pkill -9 -x victim
	until_true "nothing is hosted" hosted 0
}

crowd() {
	up --cpus 3
	for threads in $(full 24 '8 63 90'); do
		$T run -- $F/crowd $threads || exit
	done
	down
	up
	$T run -- $F/crowd 120 || exit
	$T run --cpus 3 -- $F/crowd 3 spin || fail "three that spin on one core ended with $?"
	$T run --cpus 3 -- $F/crowd 2 beside || fail "one that calls beside one that computes ended with $?"
	$T run --cpus 3 -- $F/crowd 21 behind || fail "one that calls behind twenty that compute ended with $?"
	$T run -- $F/crowd 6 spin || fail "six that spin on two cores ended with $?"
	down
}

on() { # EXPECTED COMMAND...: checks the CPUs of its threads
	local expected=$1 said
	shift
	said=$("$@" 2>&1)
	[ "$said" = "$expected" ] || fail "$*: said '$said', not '$expected'"
}

as_rank() { # NUMBER COUNT COMMAND...
	MPI_LOCALRANKID=$1 MPI_LOCALNRANKS=$2 "${@:3}"
}

bound() {
	up
	on "may 2,3 on 3 2 3 2 again 2" $T run --bind 3,2 -- $F/bound 3
	on "may 2,3 on 2 3 2 3 again 3" $T run --bind compact -- $F/bound 3
	on "may 2,3 on 2 3 2 again 3" $T run --bind scatter -- $F/bound 2
	# An idle CPU must not attract threads that are bound elsewhere.
	on "may 3 on 3 3 3 3 again 3" $T run --bind 3 -- $F/bound 3
	on "may 2,3 on 2 2 3 again 2" $T run --bind 2,2,3 -- $F/bound 2
	# A child gets the next CPU of its parent's order.
	on "may 2,3 on 2" $T run --follow --bind 3,2 -- sh -c "$F/bound 0; :"
	refused "--bind: CPU 1" $T run --bind 2,1 -- true
	refused "--bind: CPU 2" $T run --cpus 3 --bind 2 -- true
	on "may 3 on 3" as_rank 1 2 $T run -- $F/bound 0
	on "may 2 on 2 2 again 2" as_rank 0 2 $T run --bind compact -- $F/bound 1
	on "may 2 on 2" as_rank 1 2 $T run --bind 3,2 -- $F/bound 0
	on "may 3 on 3" as_rank 4 5 $T run -- $F/bound 0
	on "may 3 on 3" as_rank 0 1 $T run --cpus 3 -- $F/bound 0
	refused "MPI_LOCALRANKID=2" as_rank 2 2 $T run -- true
	[ "$(as_rank 1 2 $T run --undivided -- $F/bound 0 | cut -d' ' -f2)" = 2,3 ] || fail "--undivided divides"
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	for launcher in mpiexec.hydra mpirun.openmpi; do
		$launcher -n 2 $T run -- $F/bound 0 >ranks 2>error || fail "$launcher: $(cat error)"
		[ "$(sort ranks)" = "may 2 on 2
may 3 on 3" ] || fail "$launcher: $(cat ranks)"
	done
	down
}

scenario "$@"

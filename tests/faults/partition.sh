# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# partition.sh: taking CPUs and memory, and giving them back. Called by the runner with the name of a function.

. "$F/lib.sh"

choices() {
	local list
	for list in 1 3 1-2 2,3 1-3 3,1; do
		up --cpus $list
		mkdir $list	# the program makes files where it is
		(cd $list && $T run -- $U/files >files.out) || fail "with CPUs $list: files ended with $?: $(tail -1 $list/files.out)"
		down
		[ "$(cat $cpus/online)" = 0-3 ] || fail "online after $list: $(cat $cpus/online)"
	done
}

steps() {
	local step
	for step in 1 2 3 4 5 6 7 8 9 10 11; do
		refused "failed on request" $T up --test-hooks --cpus 2-3 --memory 64M --fail-step $step
		state 0 || fail "step $step leaves state $($F/door status)"
		[ "$(cat $cpus/online)" = 0-3 ] || fail "online after step $step: $(cat $cpus/online)"
		[ "$(cat $cpus/present)" = 0-3 ] || fail "present after step $step: $(cat $cpus/present)"
		! grep -q tacet /proc/interrupts || fail "an interrupt stays after step $step"
		[ "$(cat /proc/sys/vm/compact_unevictable_allowed)" = 1 ] || fail "compaction is restrained after step $step"
	done
	up
	down
}

# An image whose first instructions stop the CPU, or loop for ever.
silent() {
	local code
	for code in f4ebfd ebfe; do
		python3 -c "import struct, sys
image = bytearray(open(sys.argv[1], 'rb').read())
entry = struct.unpack_from('<Q', image, 16)[0] & 0x1fffff
code = bytes.fromhex('$code')
image[entry:entry + len(code)] = code
open('silent.bin', 'wb').write(image)" $D/lib/tacet/kernel.bin
		refused "did not come up" $T up --test-hooks --cpus 2-3 --memory 64M --image silent.bin
		state 0 || fail "$code leaves state $($F/door status)"
		[ "$(cat $cpus/online)" = 0-3 ] || fail "online after $code: $(cat $cpus/online)"
	done
	up
	$T run -- $U/files >files.out || fail "files ended with $? afterwards"
	down
}

refusals() {
	local words
	for words in "--cpus 0" "--cpus 0-3" "--cpus 7" "--cpus 2-3 --memory 2M" "--cpus 2 --memory 1000G"; do
		# shellcheck disable=SC2086  # these are several words
		refused "" $T up --test-hooks $words
		state 0 || fail "$words leaves state $($F/door status)"
	done
	echo 0 >$cpus/cpu3/online
	refused "" $T up --test-hooks --cpus 2-3
	echo 1 >$cpus/cpu3/online
	up
	refused "one is up" $T up --test-hooks --cpus 1
	down
	refused "none is up" $T run -- true
	refused "none is up" $T ps
	refused "too small for 2 CPUs; ask for more (--memory; the default is 64M)" $T up --test-hooks --cpus 2-3 --memory 1M
	$T status >said && fail "status ends with 0 where no partition is"
	grep -q "partition *none" said || fail "status says $(cat said)"
	[ "$($F/door down)" = ENODEV ] || fail "a second down: $($F/door down)"
}

# As much memory as the node has, which must fail; and more than a quarter of it.
memory() {
	local all
	all=$(($(sed -n 's/MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 2048 * 2))M
	for _ in $(seq "$(often 1 3)"); do
		refused "" $T up --test-hooks --cpus 3 --memory $all
		state 0 || fail "$all leaves state $($F/door status)"
	done
	up --memory 512M
	[ "$($T --json status | tr -d ' \n' | grep -o '"bytes":[0-9]*')" = '"bytes":536870912' ] ||
		fail "status does not say 512 MiB"
	down
}

# Starts and ends partitions while Linux is busy, and runs a program each time.
# A signal while it starts: nothing is left, and it says so; or it is up. Signals that came before were the shell's own business.
interrupted() {
	local signal pause status undone=0
	for signal in INT TERM HUP; do
		for pause in away 0 0.1 0.3 0.6 1; do
			env --default-signal "$T" up --test-hooks --cpus 2-3 --memory 64M >up.out 2>&1 &
			if [ $pause = away ]; then until_true "CPU 3 leaves" is_offline 3; else sleep $pause; fi
			kill -$signal $! 2>/dev/null
			wait $!
			status=$?
			case $pause-$status in
			*-4)
				grep -q "interrupted by SIG$signal: nothing is left" up.out || fail "it said $(cat up.out)"
				undone=$((undone + 1))
				;;
			*-0) down ;; # the signal came when all was done
			away-*) fail "$signal while CPU 3 leaves: status $status: $(cat up.out)" ;;
			*-129 | *-130 | *-143) ;;
			*) fail "$signal after $pause s: status $status: $(cat up.out)" ;;
			esac
			[ "$(cat $cpus/online)" = 0-3 ] || fail "$signal after $pause s, status $status: CPUs $(cat $cpus/online)"
			$T status | grep -q "partition *none" || fail "$signal after $pause s, status $status: $($T status)"
		done
	done
	[ $undone -gt 0 ] || fail "no signal came while a partition started"
}

is_offline() {
	[ "$(cat $cpus/cpu$1/online)" = 0 ]
}

cycles() {
	local i pids
	for i in 1 2; do
		$F/victim faults & pids="$pids $!"
		$F/victim forks & pids="$pids $!"
	done
	for i in $(seq "$(often 5 100)"); do
		up --cpus $((1 + i % 3))
		$T run -- /bin/true || fail "cycle $i: true ended with $?"
		down
	done
	note "$(often 5 100) cycles"
	kill -9 $pids
}

scenario "$@"

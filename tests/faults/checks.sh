# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# checks.sh machine_checks: machine checks on cores, raised by the emulator. What hits one program ends that program;
# what hits nothing here is survived; what hits the co-kernel itself ends the partition, and Linux lives.

. "$F/lib.sh"

# Valid, uncorrected, enabled, with an address that is physical; then: signalled, needs an action, a load.
error=0xbc00000000000000
load=0xbd80000000000134
corrupt=0xbf80000000000134
physical=0x8c
# In progress, and the interrupted program met it; the program can continue.
here=7
elsewhere=5

check() { # CPU BANK STATUS GLOBAL ADDRESS
	echo "monitor: mce $1 $2 $3 $4 $5 $physical"
}

said() { # WORDS
	$T log | grep -q "$1"
}

machine_checks() {
	local other owner frame address round
	up
	victim compute --cpus 3
	other=$rounds_file
	# the error of another CPU
	for round in 1 2 3; do
		check 3 1 0xa000000000000000 $elsewhere 0
		alive $other
	done
	# a program's own memory
	$T run --cpus 2 -- $F/badpage frame &
	owner=$!
	until_true "badpage begins" [ -s frame ]
	frame=$(cat frame)
	[ "$frame" -gt 0 ] || fail "badpage does not know its frame"
	address=$(printf '0x%x' $((frame * 4096)))
	check 2 9 $load $here "$address"
	ended $owner 42
	said "bad memory at $address" || fail "the log does not name $address: $($T log | tail -3)"
	alive $other
	# memory that nobody uses
	address=$(printf '0x%x' $((frame * 4096 + 4096)))
	check 3 8 $error $here "$address"
	until_true "the watch finds it" said "bad memory at $address"
	alive $other
	state 1 || fail "the partition failed: $($T status)"
	$T run -- $U/files >/dev/null || fail "files ended with $? beside bad memory"
	# memory that Linux calls bad; it is not cleared for another user, whom it does not keep out
	$T run --cpus 2 -- $F/badpage frame.2 &
	until_true "badpage begins" [ -s frame.2 ]
	address=$(printf '0x%x' $(($(cat frame.2) * 4096)))
	echo "$address" >/sys/devices/system/memory/hard_offline_page
	until_true "the list has it" said "bad memory at $address"
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	chmod 666 /dev/tacet
	[ "$(setpriv --reuid=1000 --clear-groups $T run -- id -u)" = 1000 ] || fail "another user's program does not run"
	victim compute --cpus 3
	# the co-kernel cannot continue
	check 3 7 $corrupt $here "$address"
	until_true "the partition has failed" state 3
	said "machine check: the processor" || fail "the log does not say why: $($T log | tail -3)"
	wait
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
	up
	down
}

scenario "$@"

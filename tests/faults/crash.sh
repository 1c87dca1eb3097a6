# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# crash.sh DAMAGE: the co-kernel dies of the damage while programs run. The programs must be killed, its last message
# reported, its CPUs returned, and the next partition must work. Also damage from which it must not die.

. "$F/lib.sh"

crash() {
	local computing calling many
	up
	victim compute --cpus 2
	computing=$victim
	victim calls --cpus 3
	calling=$victim
	victim threads --cpus 3
	many=$victim
	$T provoke 2 "$1" || fail "provoke: $(tail -1 .stderr)"
	until_true "the partition has failed" state 3
	ended $computing 137
	ended $calling 137
	ended $many 137
	hosted 0 || fail "threads stay hosted: $($F/door status)"
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
	$T --json status | grep -q '"message": *"[^"]' || fail "the status does not say why"
	$T log | grep -q "$2" || fail "the log does not say '$2': $($T log | tail -3)"
	up
	$T run -- $U/files >/dev/null || fail "files ended with $? on the next partition"
	down
}

panic() { crash panic 'last words'; }
wild_pointer() { crash fault 'last words'; }
hang() { crash hang 'hangs'; }
corrupt_index() { crash outbox 'corrupted its outbox'; }
bogus_entry() { crash entry 'context that does not exist'; }

# Several deaths, each in another way.
repeated() {
	for damage in panic outbox fault entry panic; do
		up
		victim compute
		$T provoke 3 $damage || fail "provoke $damage"
		until_true "the partition has failed" state 3
		ended $victim 137
	done
	up
	down
}

# Linux does not serve its interrupts for long. The core must not die: it waits for room in its outbox, and nothing is
# lost.
full_outbox() {
	local round
	up
	victim calls --cpus 3
	for round in $(seq 20); do
		$T provoke 3 full || fail "provoke: $(tail -1 .stderr)"
		alive $rounds_file
	done
	state 1 || fail "the partition failed: $($T status)"
	kill -9 $victim
	ended $victim 137
	down
}

# A processor refuses what some program has made of its registers. That is the program's matter.
bad_state() {
	local spoilt other round
	up
	victim compute --cpus 2
	spoilt=$victim
	victim compute --cpus 3
	other=$rounds_file
	$T provoke 2 registers || fail "provoke: $(tail -1 .stderr)"
	ended $spoilt 139
	alive $other
	# of two threads that share a core, the one that does not run loads its selectors again
	victim threads --cpus 2
	spoilt=$rounds_file
	for round in $(seq 10); do
		$T provoke 2 selectors || fail "provoke: $(tail -1 .stderr)"
		alive $spoilt
	done
	victim aligned --cpus 2
	for round in $(seq 30); do
		$T provoke 2 flags || fail "provoke: $(tail -1 .stderr)"
		alive $rounds_file
	done
	$T log | grep "AC is set" && fail "a program's AC flag is set in the co-kernel"
	alive $other
	state 1 || fail "the partition failed: $($T status)"
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

scenario "$@"

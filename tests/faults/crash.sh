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

scenario "$@"

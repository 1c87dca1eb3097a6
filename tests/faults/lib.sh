# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# lib.sh: common functions of the scenario scripts. Each script sources it, defines
# one function for each scenario and ends with `scenario "$@"`. The runner sets T
# (the tacet command), F (our programs), U (the user programs), FULL, and SLOWNESS: how
# many times as long things may take.
# "fail: REASON" on the output fails a scenario; "note: TEXT" is printed with it.

cpus=/sys/devices/system/cpu

fail() {
	echo "fail: $*"
	exit 1
}

note() {
	echo "note: $*"
}

full() { # NORMAL LONG: what is tried
	if [ "$FULL" = 1 ]; then echo "$2"; else echo "$1"; fi
}

# A kernel that checks itself sees a wrong step the first time that it is made. Rounds look for an instant at which it
# matters; the kernels that users have are for that.
often() { # NORMAL LONG: the number of rounds
	echo $((($(full "$1" "$2") + ${SLOWNESS:-1} - 1) / ${SLOWNESS:-1}))
}

up() { # [ARGUMENTS]: starts a partition, on CPUs 2 and 3 by default
	case " $* " in *" --cpus "*) ;; *) set -- --cpus 2-3 "$@" ;; esac
	case " $* " in *" --memory "*) ;; *) set -- --memory 64M "$@" ;; esac
	$T up --test-hooks "$@" >/dev/null 2>.up-said || fail "up $*: $(cat .up-said)"
}

down() { # [--force]
	$T down "$@" >/dev/null 2>.down-said || fail "down $*: $(cat .down-said)"
}

tune() { # WORDS: runs the command, which must succeed
	"$T-tune" "$@" >said 2>&1 || fail "tune $*: $(grep -A4 '^[A-Z]' said | tr '\n' ';')"
}

refused() { # WORD COMMAND...: the command must fail, with WORD in its message
	local word=$1 said
	shift
	said=$("$@" 2>&1) && fail "$* was not refused"
	case $said in *"$word"*) ;; *) fail "$*: said '$said', not '$word'" ;; esac
}

victim() { # WAY [tacet run's arguments]: starts the victim, sets $victim to its pid, waits until it counts its rounds
	local way=$1 file=rounds.$RANDOM$RANDOM
	shift
	$T run "$@" -- $F/victim "$way" $file &
	victim=$! rounds_file=$file
	until_true "the victim begins" counted $file
}

counted() { # FILE: the victim's rounds are not 0
	[ -s "$1" ] && [ "$(rounds "$1")" != 0 ]
}

rounds() { # FILE
	od -An -tu8 -N8 "$1" | tr -d ' '
}

alive() { # FILE: the victim's rounds must grow
	local before
	before=$(rounds "$1")
	until_true "$1 continues" ended_or_more_than "$before" "$1"
	more_than "$before" "$1" || fail "the victim has ended: $(tail -1 .stderr)"
}

ended_or_more_than() { # NUMBER FILE
	more_than "$1" "$2" || ! grep -qs '^State:[^Z]*$' /proc/$victim/status
}

more_than() { # NUMBER FILE
	[ "$(rounds "$2")" -gt "$1" ]
}

parameters() { # NAME=VALUE...: of the module; TACET_TEST_PARAMETERS has those for every scenario
	local set
	for set; do
		echo "${set#*=}" >/sys/module/tacet/parameters/"${set%%=*}" || fail "parameter $set: $(tail -1 .stderr)"
	done
}

stopped() { # PID
	[ "$(sed 's/.*) //' /proc/$1/stat | cut -c1)" = T ]
}

stops_and_continues() { # the victim stops and continues three times
	for _ in 1 2 3; do
		kill -STOP $victim
		until_true "it stops" stopped $victim
		kill -CONT $victim
		alive $rounds_file
	done
}

until_true() { # WHAT COMMAND...: waits until the command succeeds; fails after two minutes, on a slow kernel after more
	local what=$1 tries=$((1200 * ${SLOWNESS:-1}))
	shift
	while [ $tries -gt 0 ]; do
		"$@" && return
		sleep 0.1
		tries=$((tries - 1))
	done
	fail "never: $what; hosted: $($F/door list | tr '\n' ';')"
}

given_back() { # does no program have memory of the partition?
	$T status --json | grep -q '"own_bytes": 0,*$'
}

hosted() { # NUMBER: are so many threads hosted?
	set -- "$1" $($F/door status)
	[ "$3" = "$1" ]
}

state() { # NUMBER of enum tacet_partition_state
	set -- "$1" $($F/door status)
	[ "$2" = "$1" ]
}

hosted_as() { # PID CPU: is it hosted there?
	$F/door list | grep -q "^$1 $1 $2 "
}

ended() { # PID STATUS: waits for our child, which must end so
	local status
	wait "$1"
	status=$?
	[ $status = "$2" ] || fail "process $1 ended with $status, not $2"
}

gone() { # PID
	! kill -0 "$1" 2>/dev/null
}

become() { # USER COMMAND...: replaces the shell; the only groups are its own and 500. In the background, $! is the command.
	local user=$1
	shift
	exec setpriv --reuid="$user" --regid="$user" --groups 500 "$@"
}

as() { # the same, and waits
	(become "$@")
}

opened() { # group 500 may use the device
	chgrp 500 /dev/tacet
	chmod 660 /dev/tacet
	chmod 777 .
}

field() { # PYTHON, of the status `s`
	$T status --json | python3 -c "import json, sys; s = json.load(sys.stdin); print($1)"
}

doorbells() { # CPU
	field "next(core['doorbells_sent'] for core in s['cores'] if core['cpu'] == $1)"
}

# CPU 1 is in user mode, and its thread has not left that for a while.
computes() {
	local entries
	entries=$(field "[core['switches'] for core in s['cores'] if core['mode'] == 'user']")
	sleep 0.5
	[ "$entries" != "[]" ] && [ "$(doorbells 1)" = "$(sleep 0.5; doorbells 1)" ]
}

scenario() {
	[ "$(type -t "$1")" = function ] || fail "no scenario $1"
	exec 2>.stderr 9>/tmp/trace
	BASH_XTRACEFD=9
	set -x
	trap 'jobs -p | xargs -r kill -9 2>/dev/null' EXIT
	parameters $PARAMETERS
	"$@"
	exit 0
}

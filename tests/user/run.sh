#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# run.sh [PREFIX...]: run every test program under PREFIX (for example
# "tacet run --follow --") and compare what it prints and how it ends.
#
# TEST_BIN      where the programs are (default: beside this script)
# TEST_ONLY     a shell pattern of names; real programs are real/NAME
# TEST_EXCEPT   patterns of names to leave out
# TEST_TIMEOUT  seconds for one program (default 60; real programs get ten times that)
# TEST_REQUIRE  1: a program that is not installed is a failure, not a skip
# TEST_TIMES    a file that gets a line for each program: seconds and name
# TEST_SHOW     1: show the difference of outputs that differ
# TACET_CPUS    the CPUs that the program must see, when PREFIX hosts it

here=$(cd "$(dirname "$0")" && pwd)
bin=${TEST_BIN:-$here}
only=${TEST_ONLY:-*}
limit=${TEST_TIMEOUT:-60}
passed=0
failed=0
dir=

cleanup() {
	[ -z "$dir" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

selected() {
	set -f
	for except in ${TEST_EXCEPT:-}; do
		# shellcheck disable=SC2254  # the pattern is meant to be one
		case $1 in
		$except) set +f && return 1 ;;
		esac
	done
	set +f
	# shellcheck disable=SC2254  # the pattern is meant to be one
	case $1 in
	$only) return 0 ;;
	esac
	return 1
}

verdict() { # NAME REASON; an empty reason means success
	if [ -z "$2" ]; then
		echo "ok $1"
		passed=$((passed + 1))
	else
		echo "not ok $1: $2"
		failed=$((failed + 1))
	fi
}

# run_one NAME EXPECTED STATUS LIMIT COMMAND...
# A status of 77 is a skip, which only real programs may use.
run_one() {
	name=$1 expected=$2 want=$3 seconds=$4
	shift 4
	dir=$(mktemp -d) || exit 1
	chmod 755 "$dir"
	start=$(date +%s)
	(cd "$dir" && exec timeout -k 5 "$seconds" "$@" >"$dir/.output" 2>"$dir/.error" </dev/null)
	got=$?
	[ -z "${TEST_TIMES:-}" ] || echo "$(($(date +%s) - start)) $name" >>"$TEST_TIMES"
	reason=
	if [ "$got" != "$want" ] && { [ "$got" = 124 ] || [ "$got" = 137 ] || [ "$got" = 143 ]; }; then
		reason="status $got: no end within $seconds s, or killed"	# busybox and coreutils differ
	elif [ "$got" = 77 ] && [ "${TEST_REQUIRE:-0}" != 1 ] && [ "${name#real/}" != "$name" ]; then
		echo "ok $name # skipped: $(tail -n 1 "$dir/.output")"
		passed=$((passed + 1))
		cleanup
		dir=
		return
	elif [ "$got" != "$want" ]; then
		reason="status $got, expected $want"
	elif ! cmp -s "$dir/.output" "$expected"; then
		reason="output differs: $(diff "$expected" "$dir/.output" | grep -m 2 '^[<>]' | tr '\n' ' ')"
	fi
	if [ -n "$reason" ]; then
		said=$(grep -m 3 -E 'check failed|^(FAIL|ERROR)' "$dir/.output" | tr '\n' ' ')
		reason="$reason (${said:-$(tail -q -n 1 "$dir/.output" "$dir/.error" | tr '\n' ' ')})"
	fi
	verdict "$name" "$reason"
	if [ -n "$reason" ] && [ "${TEST_SHOW:-0}" = 1 ]; then
		diff -u "$expected" "$dir/.output"
		cat "$dir/.error"
	fi
	cleanup
	dir=
}

for expected in "$here"/*.expected; do
	base=$(basename "$expected" .expected)
	for name in "$base" "$base-static" "$base-static-pie"; do
		[ -x "$bin/$name" ] || [ "$name" = "$base" ] || continue
		selected "$name" || continue
		want=0
		[ ! -f "$here/$base.status" ] || want=$(cat "$here/$base.status")
		if [ ! -x "$bin/$name" ]; then
			verdict "$name" "not built"
			continue
		fi
		run_one "$name" "$expected" "$want" "$limit" "$@" "$bin/$name"
	done
done

for script in "$here"/real/*.sh; do
	[ -f "$script" ] || continue
	name=real/$(basename "$script" .sh)
	selected "$name" || continue
	run_one "$name" "${script%.sh}.expected" 0 $((limit * 10)) "$@" sh "$script"
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# profile.sh: checks the output of `tacet run --profile` and `tacet top` for a program whose
# calls are known. Called by the runner with the name of a function.

. "$F/lib.sh"

check() { # FILE PROGRAMS: checks the profile of so many runs of `spends`
	python3 - "$1" "$2" <<'PYTHON' || exit
import json, sys
profile, programs = json.load(open(sys.argv[1])), int(sys.argv[2])
costs = {(cost["on"], cost["name"]): cost for cost in profile["costs"]}
def is_so(what, holds):
    if not holds:
        sys.exit(print(f"fail: {what}: {json.dumps(profile)}"))
def spent(on, name, count, least_ns):
    cost = costs.get((on, name), {"count": 0, "total_ns": 0, "longest_ns": 0})
    is_so(f"{on} {name}: not {count}", cost["count"] == count)
    is_so(f"{on} {name}: {count} in less time", cost["total_ns"] >= least_ns)
    is_so(f"{on} {name}: the longest", cost["longest_ns"] * count >= cost["total_ns"] >= cost["longest_ns"])
each = 2 * programs
spent("forwarded-call", "getpriority", 1000 * each, 1)
spent("local-call", "gettid", 500 * each, 1)
# a core with other threads to run leaves its threads' sleeps to Linux
if programs == 1:
    spent("local-wait", "clock_nanosleep", 30 * each, 30 * each * 50_000)
    spent("forwarded-call", "clock_nanosleep", 5 * each, 5 * each * 2_000_000)
slept = [cost for (on, name), cost in costs.items() if name == "clock_nanosleep"]
is_so("sleeps", sum(cost["count"] for cost in slept) == 35 * each)
is_so("faults", costs[("local-fault", "")]["count"] >= 64 * each)
is_so("threads", profile["threads"] >= each and profile["user_ns"] > 0)
is_so("order", [c["total_ns"] for c in profile["costs"]] == sorted((c["total_ns"] for c in profile["costs"]), reverse=True))
PYTHON
}

at_end() {
	up
	$T run --profile-to p1 -- $F/spends
	[ $? = 7 ] || fail "its exit status is lost"
	check p1 1
	# the interrupts that ended its sleeps, and no others
	$T status --json | python3 -c 'import json, sys
cores = json.load(sys.stdin)["cores"]
sys.exit(not any(core["alarms"] for core in cores) or any(core["foreign_interrupts"] for core in cores))' ||
		fail "what interrupted the cores: $($T status)"
	# the profile has its hosted children only
	$T run --profile-to p2 -- sh -c "$F/spends; :"
	python3 -c 'import json; assert not [c for c in json.load(open("p2"))["costs"] if c["name"] == "getpriority"]' || fail "a child on Linux is counted"
	$T run --follow --profile-to p3 -- sh -c "$F/spends; $F/spends & wait"
	check p3 2
	# the account of one program must not have counts of an earlier one
	$T run --profile -- $F/spends 2>table
	grep -qE '^forwarded-call +getpriority +2000 ' table || fail "the table: $(cat table)"
	$T --json run --profile -- $F/spends 2>object
	python3 -c 'import json; o = json.load(open("object")); assert o["json_version"] == 1 and o["costs"]' || fail "no object: $(cat object)"
	$T run --profile -- sh -c 'kill -9 $$' 2>table
	[ $? = 137 ] || fail "its death by a signal is lost"
	grep -q '^SPENT-ON' table || fail "no table of a killed program"
	refused "/nowhere/p" $T run --profile-to /nowhere/p -- true
	refused "nothing.there" $T run --profile -- nothing.there
	until_true "nothing is hosted" hosted 0
	down
}

while_it_runs() {
	local attendant
	up
	$T run --profile-to p4 -- $F/spends wait &
	attendant=$!
	until_true "it has slept" slept
	$T --json top "$(pidof spends)" --iterations 1 --interval 1 >line || fail "top: $(cat line)"
	python3 -c 'import json; json.dump(json.loads(open("line").read())["profile"], open("p5", "w"))'
	check p5 1
	$T top --iterations 1 --interval 1 | grep -q ' spends$' || fail "top does not list it"
	$F/victim compute r.rounds & victim=$!
	$F/door decouple $victim >/dev/null
	refused "keeps no account" $T top $victim --iterations 1 --interval 1
	kill -9 $victim
	# a signal that ends the parent ends the program, and the profile is written
	kill -TERM $attendant
	wait $attendant
	[ $? = 143 ] || fail "SIGTERM did not reach it"
	check p4 1
	until_true "nothing is hosted" hosted 0
	down
}

slept() { # have both threads finished all their sleeps?
	local pid
	pid=$(pidof spends) && $T --json top "$pid" --iterations 1 --interval 1 2>/dev/null >line &&
		python3 -c 'import json, sys
costs = json.loads(open("line").read())["profile"]["costs"]
sys.exit(sum(c["count"] for c in costs if c["name"] == "clock_nanosleep") != 70)'
}

scenario "$@"

# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# compare.sh: `tacet compare` on a node with all rungs. Called by the runner with the name of a function.

. "$F/lib.sh"

compare() { # [ARGUMENTS]
	"$T" compare --json --cpus 2-3 --noise 500ms --trust-clock "$@" >compared.json 2>said
}

nothing_left() {
	[ "$("$T-tune" status)" = "nothing is applied" ] || fail "$1: countermeasures stay: $("$T-tune" status)"
	grep -qx disabled /sys/kernel/sched_ext/state || fail "$1: a scheduler stays"
	[ "$(cat /sys/devices/system/cpu/online)" = 0-3 ] || fail "$1: CPUs online are $(cat /sys/devices/system/cpu/online)"
}

rungs() {
	local comparison
	compare --runs 2 -- $F/source busy 1 20 || fail "$(tail -1 said)"
	python3 - <<-'END' || fail "the comparison: $(head -c 3000 compared.json)"
		import json
		compared = json.load(open("compared.json"))
		assert [rung["rung"] for rung in compared["rungs"]] == ["default", "tuned", "hpl", "co-kernel"]
		for rung in compared["rungs"]:
		    assert len(rung["seconds"]) == 2 and rung["least_seconds"] > 0, rung
		    assert rung["noise"]["max_noise_ns"] > 0, rung
		    assert rung["rung"] == "co-kernel" or rung["noise"]["thieves"] is not None, rung
		assert compared["pays"] is None and "not enough to say" in compared["verdict"]
	END
	nothing_left "a comparison"
	compare --runs 4 --rungs default -- $F/source busy 1 1 || fail "$(tail -1 said)"
	grep -q 'nothing to compare' compared.json || fail "one rung: $(cat compared.json)"
	compare -- false && fail "a program that fails is compared"
	grep -q 'compare a program that ends with status 0' said || fail "a program that fails: $(tail -1 said)"
	nothing_left "a program that fails"
	"$T" compare --cpus 2-3 --noise 500ms --trust-clock --rungs tuned -- sleep 1000 >/dev/null 2>said &
	comparison=$!
	until_true "the program runs" pgrep -fx 'sleep 1000' >/dev/null
	kill -TERM $comparison
	wait $comparison && fail "an interrupted comparison ends well"
	nothing_left "an interruption"
	! pgrep -fx 'sleep 1000' || fail "the program continues"
	tune apply --cpus 2-3 --only vmstat
	refused "countermeasures are applied" $T compare -- true
	tune undo
	refused "not online" $T compare --cpus 2-9 -- true
}

scenario "$@"

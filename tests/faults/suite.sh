# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# suite.sh: the programs of tests/user, on the partition, with the output that
# they have on Linux. Called by the runner with the name of a function.

. "$F/lib.sh"

suite() { # tacet run's arguments
	local pattern
	up
	# All but real/*, which take hours under emulation.
	for pattern in '[!r]*' 'r[!e]*' 're[!a]*'; do
		TACET_CPUS=2-3 TEST_ONLY="$pattern" TEST_TIMEOUT=120 bash $U/run.sh $T run "$@" -- >>suite.out 2>&1
	done
	grep '^not ok' suite.out | sed 's/^not ok /fail: /'
	note "$(grep -c '^ok' suite.out) programs"
	until_true "nothing is hosted" hosted 0
	down
	! grep -q '^not ok' suite.out || exit 1
}

alone() { suite; }
followed() { suite --follow; }
unpopulated() { suite --follow --no-populate; }

scenario "$@"

# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# kills.sh: SIGKILL at random instants, a thousand times over the three kernels. Called by the runner with the name of a
# function.

. "$F/lib.sh"

random() {
	local count seed=$((RANDOM * RANDOM + 1))
	count=$(often 170 1000)
	up
	$F/killer "$count" $seed $F/victim any || exit
	down
	note "$count kills" "seed $seed"
}

scenario "$@"

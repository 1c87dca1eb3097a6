#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compares programs of the NAS Parallel Benchmarks (OpenMP), which the user has built, natively and hosted.
suite=npb
usage='npb.sh --tree DIR [--class S] [--threads 2] [--runs 5] [--cpus 2-3] [--memory 1G] [--kernel 6.12] [--here] [PROGRAM…]'
. "$(dirname "$0")/common.sh"
options "$@"
[ -n "$rest" ] || rest='bt cg ep ft is lu mg sp'
for name in $rest; do
	[ -x "$tree/bin/$name.$class.x" ] || fail "$tree/bin/$name.$class.x: not built: \`make $name CLASS=$class\` in NPB3.4-OMP"
done
worst=0
for name in $rest; do
	compare "$name.$class" "OMP_NUM_THREADS=$threads @ $tree/bin/$name.$class.x" || worst=$?
done
exit "$worst"

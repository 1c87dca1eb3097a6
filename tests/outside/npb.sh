#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compares programs of the NAS Parallel Benchmarks (OpenMP), which the user has built, natively and hosted.
suite=npb
usage='npb.sh --tree DIR [--class S] [--threads 2] [--runs 5] [--cpus 2-3] [--memory 1G] [--kernel 6.12] [--here] [--out DIR] [PROGRAM…]'
. "$(dirname "$0")/common.sh"
options "$@"

# NPB 3.4 calls it ep.S.x, NPB-CPP ep.S.
program() {
	if [ -x "$tree/bin/$1.$class.x" ]; then echo "$tree/bin/$1.$class.x"; else echo "$tree/bin/$1.$class"; fi
}

[ -n "$rest" ] || rest='bt cg ep ft is lu mg sp'
for name in $rest; do
	[ -x "$(program "$name")" ] || fail "$tree/bin/$name.$class.x: not built: \`make $name CLASS=$class\` in NPB3.4-OMP, or in NPB-OMP of NPB-CPP"
done
worst=0
for name in $rest; do
	compare "$name.$class" "OMP_NUM_THREADS=$threads @ $(program "$name")" || worst=$?
done
exit "$worst"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compares the Intel MPI Benchmarks (IMB-MPI1), which the user has built, natively and hosted. MPIRUN is the launcher with its
# flags, as the node has it (default: mpirun).
suite=imb
usage='imb.sh --tree DIR [--ranks 2] [--runs 5] [--cpus 2-3] [--memory 1G] [--kernel 6.12] [--here] [--out DIR] [BENCHMARK…]'
. "$(dirname "$0")/common.sh"
options "$@"
[ -n "$rest" ] || rest='PingPong Allreduce Barrier'
[ -x "$tree/IMB-MPI1" ] || fail "$tree: no IMB-MPI1 there: build it with \`make IMB-MPI1 CC=mpicc CXX=mpicxx\`"
compare "ranks-$ranks" "${MPIRUN:-mpirun} -n $ranks @ $tree/IMB-MPI1 $rest"

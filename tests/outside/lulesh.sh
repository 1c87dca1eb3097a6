#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compares LULESH 2.0 (lulesh2.0, with OpenMP, without MPI), which the user has built, natively and hosted.
suite=lulesh
usage='lulesh.sh --tree DIR [--size 30] [--threads 2] [--runs 5] [--cpus 2-3] [--memory 1G] [--kernel 6.12] [--here] [--out DIR]'
. "$(dirname "$0")/common.sh"
options "$@"
program=$tree/lulesh2.0
[ -x "$program" ] || program=$tree/build/lulesh2.0
[ -x "$program" ] || fail "$tree: no lulesh2.0 there: build it with \`make CXX=g++ CXXFLAGS='-O3 -fopenmp -DUSE_MPI=0'\`"
compare "size-$size" "OMP_NUM_THREADS=$threads @ $program -s $size"

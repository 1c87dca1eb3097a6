#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# OpenMP programs on GNU's and on LLVM's runtime, and numpy on OpenBLAS with threads.
. "$(dirname "$0")/lib"
need gcc
libraries=/usr/lib/x86_64-linux-gnu
[ -e $libraries/libomp.so.5 ] || { echo "no libomp"; exit 77; }
[ -e $libraries/openblas-pthread/libblas.so.3 ] || { echo "no OpenBLAS"; exit 77; }
gcc -O2 -fopenmp -o regions "$here/regions.c" || exit 1
for threads in 2 5; do
	echo "gomp, $threads: $(OMP_NUM_THREADS=$threads ./regions)"
	echo "omp, $threads: $(OMP_NUM_THREADS=$threads LD_PRELOAD=$libraries/libomp.so.5 ./regions)"
done
echo "gomp, passive: $(OMP_NUM_THREADS=3 OMP_WAIT_POLICY=passive ./regions)"
need_python numpy
cat >blas.py <<'PYTHON'
import numpy as np
rows = (np.arange(300 * 300).reshape(300, 300) * 7919) % 1009
columns = (np.arange(300 * 300).reshape(300, 300) * 104729) % 997
print("blas", bool((rows.astype(float) @ columns.astype(float) == rows @ columns).all()))
print("openblas", "openblas" in open("/proc/self/maps").read())
system = np.eye(200) * 200 + rows[:200, :200] / 1009
print("solve", bool(np.allclose(system @ np.linalg.solve(system, np.ones(200)), 1)))
PYTHON
OPENBLAS_NUM_THREADS=2 exec $python blas.py

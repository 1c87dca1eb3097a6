#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# HPC Challenge (Debian's hpcc) on two ranks: its programs check their own results; and the kernel must have copied
# longer messages from one rank's memory to the other's (cross-memory attach).
. "$(dirname "$0")/lib"
need gcc hpcc mpirun.openmpi
gcc -O2 -shared -fPIC -o attached.so "$here/attached.c" -ldl || exit 1
export ATTACHED=$PWD/attached
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export HPCC_DIRECTORY=$PWD/hpcc
sh "$here/../mpi/hpcc.sh" prepare 64 1 2 || exit 1
cd hpcc || exit 1
mpirun.openmpi --mca smsc cma -n 2 env LD_PRELOAD="$ATTACHED.so" hpcc || exit 1
sh "$here/../mpi/hpcc.sh" check || exit 1
echo "failed: $(grep -c FAILED hpccoutf.txt)"
grep -o 'Found [0-9]* errors in [0-9]* locations' hpccoutf.txt | sort | uniq -c | sed 's/^ *//'
grep -E '^(CommWorldProcs|HPL_N|MPIRandomAccess_Errors|MPIFFT_N)=' hpccoutf.txt
echo "ranks whose memory was copied from or to: $(sort -u "$ATTACHED" | grep -c .)"

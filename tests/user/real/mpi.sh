#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need mpicc mpiexec
mpicc -O2 -o allreduce "$here/../mpi/allreduce.c" || exit 1
# Open MPI does not run as root, nor more ranks than CPUs, unless it is told to; MPICH does not mind
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
for ranks in 1 2; do
	mpiexec -n $ranks ./allreduce 2>error | sort || cat error
done

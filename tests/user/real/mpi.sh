#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need mpicc mpiexec
mpicc -O2 -o allreduce "$here/../mpi/allreduce.c" || exit 1
# Open MPI needs flags to run as root, or with more ranks than CPUs; MPICH does not
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
for ranks in 1 2; do
	mpiexec -n $ranks ./allreduce 2>error | sort || cat error
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# LAMMPS (Debian's): the energies of a melting crystal, without MPI and on two ranks.
. "$(dirname "$0")/lib"
need lmp mpirun.openmpi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LAMMPS_DIRECTORY=$PWD/lammps
for launcher in "" "mpirun.openmpi -n 2"; do
	sh "$here/../mpi/lammps.sh" prepare 4 50 || exit 1
	(cd lammps && $launcher lmp -in in.melt -screen none) || exit 1
	sh "$here/../mpi/lammps.sh" energies
done

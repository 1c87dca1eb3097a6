#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# LAMMPS (Debian's): a melting crystal, alone and on two ranks, by its energies.
. "$(dirname "$0")/lib"
need lmp mpirun.openmpi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cat >in.melt <<'LAMMPS'
units		lj
atom_style	atomic
lattice		fcc 0.8442
region		box block 0 4 0 4 0 4
create_box	1 box
create_atoms	1 box
mass		1 1.0
velocity	all create 3.0 87287 loop geom
pair_style	lj/cut 2.5
pair_coeff	1 1 1.0 1.0 2.5
fix		1 all nve
thermo_style	custom step atoms temp epair etotal press
thermo		25
run		50
LAMMPS
energies() { # the rows of its table, as exact as they are in every order of adding up
	awk '/^ *Step/ { on = 1; next } /^Loop/ { on = 0 } on { printf "%d %d %.5f %.5f %.5f %.4f\n", $1, $2, $3, $4, $5, $6 }'
}
lmp -in in.melt -log none | energies
mpirun.openmpi -n 2 lmp -in in.melt -log none | energies

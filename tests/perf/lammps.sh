#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# LAMMPS (Debian's): a melting crystal and its energies. Runs in the node, called by src/jobs.rs for the bench `sched`,
# and by tests/user/real/lammps.sh.
#
# usage: lammps.sh prepare CELLS STEPS   makes the directory that lmp runs in, with its input, in.melt
#        lammps.sh energies              the rows of the last run's table, in out.melt: step, atoms, temperature,
#                                        energies of the pairs and of all, pressure
#        lammps.sh check ROW             fails unless this is the last of them
# CELLS: cells of the crystal in each direction, with four atoms each. STEPS: steps of 0.005 units of time.
set -eu
directory=${LAMMPS_DIRECTORY:-/tmp/lammps}

prepare() { # cells steps
	rm -rf "$directory"
	mkdir "$directory"
	cat >"$directory/in.melt" <<-END
		log		out.melt
		units		lj
		atom_style	atomic
		lattice		fcc 0.8442
		region		box block 0 $1 0 $1 0 $1
		create_box	1 box
		create_atoms	1 box
		mass		1 1.0
		velocity	all create 3.0 87287 loop geom
		pair_style	lj/cut 2.5
		pair_coeff	1 1 1.0 1.0 2.5
		fix		1 all nve
		thermo_style	custom step atoms temp epair etotal press
		thermo		25
		run		$2
	END
}

# Rounded so that the order of additions does not matter.
energies() {
	awk '/^ *Step/ { on = 1; next } /^Loop/ { on = 0 } on { printf "%d %d %.5f %.5f %.5f %.4f\n", $1, $2, $3, $4, $5, $6 }' \
		"$directory/out.melt"
}

case ${1-} in
prepare) prepare "$2" "$3" ;;
energies) energies ;;
check)
	last=$(energies | tail -n 1)
	[ "$last" = "$2" ] || {
		echo "lammps: the last row is $last, not $2"
		exit 1
	}
	;;
*)
	echo "lammps.sh: ${1-}: prepare, energies or check" >&2
	exit 2
	;;
esac

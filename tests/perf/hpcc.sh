#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# HPC Challenge (Debian's hpcc): writes its input and checks its results. Runs in the node, called by src/jobs.rs for
# the bench `sched`, and by tests/user/real/hpcc.sh.
#
# usage: hpcc.sh prepare ORDER ROWS COLUMNS   makes the directory that hpcc runs in, with its input
#        hpcc.sh check                        fails unless the last run's results were right
# ORDER: of the system of equations; hpcc derives the sizes of all its programs from it. ROWS x COLUMNS ranks.
set -eu
directory=${HPCC_DIRECTORY:-/tmp/hpcc}

prepare() { # order rows columns
	rm -rf $directory
	mkdir $directory
	# hpcc counts lines: two title lines, the lines of HPL.dat, a separator, and no further lines for PTRANS
	cat >$directory/hpccinf.txt <<-END
		HPL input
		HPL
		HPL.out file
		8 device
		1 sizes
		$1 N
		1 block sizes
		32 NB
		0 row-major
		1 grids
		$2 P
		$3 Q
		16.0 threshold
		1 panel facts
		2 right
		1 stopping criteria
		4 NBMIN
		1 divisions
		2 NDIV
		1 recursive facts
		1 Crout
		1 broadcasts
		1 ring, modified
		1 depths
		1 DEPTH
		2 mixed swapping
		64 threshold
		0 L transposed
		0 U transposed
		1 equilibration
		8 alignment
		separator
		0 more sizes
		$1
		0 more block sizes
		32
	END
}

case ${1-} in
prepare) prepare "$2" "$3" "$4" ;;
check)
	grep -qx 'Success=1' $directory/hpccoutf.txt || {
		tail -n 20 $directory/hpccoutf.txt
		exit 1
	}
	;;
*)
	echo "hpcc.sh: ${1-}: prepare or check" >&2
	exit 2
	;;
esac

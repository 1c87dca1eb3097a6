# SPDX-License-Identifier: Apache-2.0 OR MIT
# The part that the scripts of this folder share: options, the node, figures. Each of them reads it by `.`, sets `suite` and
# `usage` before, and calls `compare` for each program (ltp.sh: `turns`). It builds nothing, and changes nothing in the user's
# trees.
set -eu
outside=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$outside/../.." && pwd)
[ ! -x "$top/build/bin/tacet" ] || PATH=$top/build/bin:$PATH
export PATH

tree= runs=5 cpus=2-3 memory=1G kernel=6.12 here= threads=2 ranks=2 size=30 class=S file=syscalls limit=60 group=10 out=build/outside/$suite
node_memory=4G

fail() {
	echo "$suite.sh: $1" >&2
	exit 2
}

# options WORD...: sets the variables above; the words that are left are in $rest.
options() {
	rest=
	while [ $# -gt 0 ]; do
		case $1 in
		-h | --help) echo "usage: $usage" && exit 0 ;;
		--here) here=1 && shift && continue ;;
		--*) [ $# -gt 1 ] || fail "$1: its value is missing; usage: $usage" ;;
		esac
		case $1 in
		--tree) tree=$2 ;;
		--runs) runs=$2 ;;
		--cpus) cpus=$2 ;;
		--memory) memory=$2 ;;
		--kernel) kernel=$2 ;;
		--threads) threads=$2 ;;
		--ranks) ranks=$2 ;;
		--size) size=$2 ;;
		--class) class=$2 ;;
		--file) file=$2 ;;
		--limit) limit=$2 ;;
		--group) group=$2 ;;
		--out) out=$2 ;;
		--*) fail "$1: no such option; usage: $usage" ;;
		*) rest="$rest $1" && shift && continue ;;
		esac
		shift 2
	done
	[ -n "$tree" ] || fail "--tree: missing: name the directory in which you have built; usage: $usage"
	[ -d "$tree" ] || fail "$tree: no such directory"
	tree=$(cd "$tree" && pwd)
}

# within DIR PARENT: is it that directory, or below it?
within() {
	case $1/ in "$2"/*) true ;; *) false ;; esac
}

# folder NAME: makes the directory of NAME's outputs, without those of an earlier run.
folder() {
	mkdir -p "$out/$1" || fail "$out/$1: it cannot be made; name another with --out"
	out=$(cd "$out" && pwd)
	rm -f "$out/$1"/native.* "$out/$1"/hosted.*
}

# turns SCRIPT NAME WORD…: runs a script of this directory for NAME, in a node or on this machine.
turns() {
	script=$outside/$1 where=$out/$2
	shift 2
	set -- sh "$script" "$where" "$cpus" "$memory" "$@"
	if [ -n "$here" ]; then
		"$@"
	else
		share=$out
		# what is below a shared directory is shared
		! within "$out" "$tree" || share=$tree
		! within "$out" "$top" || share=$top
		set -- -- "$@"
		[ "$share" = "$tree" ] || [ "$share" = "$top" ] || set -- --share "$share" "$@"
		within "$top" "$tree" || set -- --share "$top" "$@"
		tacet node --kernel "$kernel" --memory "$node_memory" run --share "$tree" "$@"
	fi
}

# compare NAME COMMAND: runs it natively and hosted in turns, then prints the figures. `@` in the command stands for
# nothing, or for `tacet run --`.
compare() {
	folder "$1"
	turns turns.sh "$1" "$runs" "$2"
	python3 "$outside/figures.py" "$suite" "$out/$1"
}

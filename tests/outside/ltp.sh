#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compares the results of tests of the Linux Test Project, which the user has built and installed, natively and hosted. Tests
# are chosen by patterns of their names in a runtest file; those whose programs are not built are left out.
suite=ltp
usage="ltp.sh [--tree /opt/ltp] [--file syscalls] [--limit 60] [--group 10] [--cpus 2-3] [--memory 1G] [--kernel 6.12] [--here] [--out DIR] ['PATTERN'…]"
. "$(dirname "$0")/common.sh"
tree=/opt/ltp
set -f
options "$@"
[ -d "$tree/testcases/bin" ] || fail "$tree: no testcases/bin there: \`make install\` in LTP's tree, after \`./configure --prefix=$tree\`"
case $file in */*) ;; *) file=$tree/runtest/$file ;; esac
[ -f "$file" ] || fail "$file: no such runtest file"
case $limit in *[!0-9]* | '' | 0*) fail "--limit: $limit is not a number of seconds" ;; esac
case $group in *[!0-9]* | '' | 0*) fail "--group: $group is not a number of tests" ;; esac

# chosen NAME: does one of the patterns match it?
chosen() {
	for pattern in ${rest:-*}; do
		# shellcheck disable=SC2254
		case $1 in $pattern) return 0 ;; esac
	done
	return 1
}

which=$(basename "$file")
folder "$which"
rm -f "$out/$which/ends"
missing=0
while read -r name line; do
	case $name in '' | '#'*) continue ;; esac
	chosen "$name" || continue
	if (PATH=$tree/testcases/bin:$PATH command -v "${line%%[[:space:]]*}" >/dev/null); then
		echo "$name $line" >&3
	else
		missing=$((missing + 1))
	fi
done <"$file" 3>"$out/$which/tests"
[ -s "$out/$which/tests" ] || fail "$file: no test of it that is built has a name like:${rest:- *}"
[ "$missing" = 0 ] || echo "tests left out, since $tree/testcases/bin lacks their programs: $missing"
turns ltp-turns.sh "$which" "$limit" "$group" "$tree" || echo "ltp.sh: the turns ended with $?; the results are of those that ran" >&2
python3 "$outside/ltp-results.py" "$out/$which" "$limit"

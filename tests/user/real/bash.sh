#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need bash
exec bash -s <<'SCRIPT'
set -m
# a pipeline and each status in it
seq 1 1000 | (while read -r n; do ((sum += n)); done; echo $sum)
true | (exit 3) | sh -c 'kill -TERM $$' | true
echo "${PIPESTATUS[@]}"
# a job that spins is stopped, continued, killed
(while :; do :; done) &
kill -STOP %1; wait %1; echo "stopped: $?"
jobs -s | grep -c Stopped
kill -CONT %1; sleep 0.1; jobs -r | grep -c Running
kill -TERM %1; wait %1; echo "terminated: $?"
# jobs that end in the other order
(sleep 0.2; exit 5) & first=$!
(exit 6) & second=$!
wait $second; echo $?; wait $first; echo $?
wait -n 2>/dev/null; echo "no more: $?"
# a trap while a child runs, and one in a loop that makes no child
trap 'echo trapped' USR1
(sleep 0.1; kill -USR1 $$) &
wait; wait
trap 'got=1' USR1; got=0
(sleep 0.1; kill -USR1 $$) &
while ((!got)); do :; done; wait; echo "loop ended"
# substitution by processes, named pipes, many children
diff <(seq 1 100) <(seq 1 100) && echo same
coproc (read -r go; tr a-z A-Z); exec 3<&"${COPROC[0]}" 4>&"${COPROC[1]}" {COPROC[1]}>&-
printf 'go\ncoprocess\n' >&4; exec 4>&-; cat <&3
for i in {1..50}; do (exit $i) & done; wait; echo "fifty: $?"
x=$(for i in {1..100}; do echo -n $(echo x); done); echo ${#x}
ulimit -s 512; f() { f; }; (f) 2>/dev/null; (( $? >= 128 )) && echo "recursion died"
(exec -a other sh -c 'echo $0'); exec bash -c 'echo replaced'
SCRIPT

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need strace
# calls by name and number, of the program and of its children
strace -o trace -e trace=getppid sh -c 'exec env true'
echo "plain: $?"
strace -f -o trace -e trace=exit_group sh -c '(exit 3); (exit 4); exit 5'
echo "follow: $? $(grep -c 'exit_group(' trace)"
grep -o 'exit_group([0-9])' trace | sort
strace -c -f -o counts dd if=/dev/zero of=/dev/null bs=1 count=500 2>/dev/null
awk '$NF == "write" || $NF == "read" { print $NF, ($4 >= 500) }' counts | sort
strace -o trace -e trace=openat -e inject=openat:error=EACCES cat /etc/passwd 2>/dev/null
echo "injected: $?"
# attach to a spinning program, and detach
sh -c 'trap "exit 9" USR1; : >begun; while :; do :; done' &
pid=$!
while [ ! -e begun ]; do sleep 0.05; done
timeout -s INT 1 strace -o trace -p $pid 2>/dev/null
kill -USR1 $pid
wait $pid
echo "attached: $?"

# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# diagnose.sh: prints everything that may explain a failed scenario, for a person.
# Called by the runner, which keeps it in build/tests/failures.

echo "--- script"; tail -n 25 /tmp/trace
echo "--- partition"; timeout 10 $F/door status; timeout 10 $F/door list; timeout 10 $T status
echo "--- log"; timeout 10 $T log | tail -n 30
echo "--- processes"; ps -eLo pid,tid,ppid,stat,psr,wchan:30,comm | grep -v '\[\|kworker\|ksoftirq\|migration\|cpuhp'
for task in $(ps -eLo tid,stat,comm | awk '$2 ~ /^D/ || $3 ~ /victim|tacet|rmmod|door|fuzz|bash/ { print $1 }'); do
	echo "--- stack of $task $(cat /proc/$task/comm)"
	cat /proc/$task/stack
done
echo "--- masks"; head /sys/devices/system/cpu/{online,present,offline}
echo "--- dmesg"; dmesg | tail -n 120

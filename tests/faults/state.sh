# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# state.sh: prints the state that must be the same before and after a scenario, for the
# runner's state.rs: lines of NAME: VALUE, then /proc/zoneinfo. Changes nothing.

cpus=/sys/devices/system/cpu
settle() { # waits until the kernel has cleaned up after ended processes
	for _ in $(seq 100); do
		[ "$(ls /sys/kernel/tacet | grep -c '^[0-9]')" = 0 ] && [ "$(cat /sys/module/tacet/refcnt)" = 0 ] && return
		sleep 0.1
	done
}

[ -d /sys/module/tacet ] && settle
for mask in online present possible offline; do
	echo "$mask CPUs: $(cat $cpus/$mask)"
done
if [ -d /sys/module/tacet ]; then
	set -- $($F/door status)
	case $1 in 0 | 3) gone=gone ;; *) gone="state $1" ;; esac
	echo "partition: $gone"
	echo "hosted threads: $2"
	echo "references of the module: $(cat /sys/module/tacet/refcnt)"
	echo "directories in /sys/kernel/tacet: $(ls /sys/kernel/tacet | tr '\n' ' ')"
	echo "interrupts of tacet: $(grep -c tacet /proc/interrupts)"
fi
echo "affinity of a new process: $(taskset -cp $$ | sed 's/.*: //')"
echo "locked pages may be moved: $(cat /proc/sys/vm/compact_unevictable_allowed)"
echo "victims: $(pgrep -c victim)"
echo "taint without ours: $(($(cat /proc/sys/kernel/tainted) & ~(4096 | 8192)))"
cat /proc/sys/vm/stat_refresh
echo zoneinfo
cat /proc/zoneinfo

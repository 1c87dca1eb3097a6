# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# views.sh: what hosted programs find out about their CPUs. Called by the runner with the name of a function.

. "$F/lib.sh"

# The same as on Linux with an affinity for the same CPUs, in everything that programs look at.
facts() {
	local before difference
	before=$(cd $cpus && find cpu2/topology cpu2/cache -type f | sort | xargs md5sum)
	taskset -c 2,3 bash $F/facts.sh >native 2>&1
	[ "$(grep -c 'thread . place' native)" -ge 14 ] || fail "on Linux: $(tail -3 native)"
	up
	$T run --follow -- bash $F/facts.sh >hosted 2>&1
	difference=$(diff native hosted) || fail "$(echo "$difference" | head -20 | tr '\n' ';')"
	# others see that Linux does not have these CPUs, and what they are
	[ "$(cat $cpus/online)" = 0-1 ] || fail "online is $(cat $cpus/online) for a program on Linux"
	[ "$(cat $cpus/cpu2/topology/core_id)" = 2 ] || fail "no topology of a CPU of the partition"
	refused "" sh -c "echo 1 >$cpus/cpu2/online"
	! dmesg | grep 'cannot create duplicate' || fail "Linux met the directory of a CPU of the partition"
	# an open file is Linux's again when the partition has gone
	$T run -- python3 -c 'import os, sys, time
file = os.open("/sys/devices/system/cpu/online", os.O_RDONLY)
print(os.pread(file, 99, 0).decode().strip(), flush=True)
while not os.path.exists("gone"): time.sleep(0.1)
print(os.pread(file, 99, 0).decode().strip(), flush=True)' >held &
	until_true "it has read" test -s held
	down --force
	[ "$(cd $cpus && find cpu2/topology cpu2/cache -type f | sort | xargs md5sum)" = "$before" ] || fail "topology afterwards"
	refused "" rmmod tacet	# the open file holds the module
	touch gone
	wait
	[ "$(xargs <held)" = "0-3 0-3" ] || fail "an open file says $(xargs <held)"
	[ "$(cat /sys/module/tacet/refcnt)" = 0 ] || fail "the module is in use afterwards"
}

scenario "$@"

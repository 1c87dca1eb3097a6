# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# beside.sh: countermeasures beside what changes by itself: other programs' affinities, interrupts that have not moved,
# CPUs that may come, a service manager that reloads. Cases from public bug reports of similar tools. Called by the
# runner with the name of a function.

. "$F/lib.sh"
. "$F/objects.sh"

# Programs with affinities of their own, devices whose interrupts have not moved, threads that nobody binds, huge pages.
others() {
	local bound=() pid
	for pid in 1 1-3 0-3; do
		taskset -c $pid sleep 1000 &
		bound+=($!)
	done
	python3 -c 'import os, time
while True: os.sched_setaffinity(0, os.sched_getaffinity(0)); time.sleep(0.1)' &
	bound+=($!)
	until_true "it binds itself" test "$(allowed $!)" = 0-3
	tune apply --cpus 2-3
	tune verify
	moved_or_named said
	until_true "it binds itself to the rest" test "$(allowed ${bound[3]})" = 0-1
	spread
	"$T-tune" undo >said
	[ $? = 1 ] || fail "undo gave everything back: $(cat said)"
	grep -q "affinity of python3 (${bound[3]}) *0-1, was 0-3: it set again what it saw" said || {
		[ "$(old)" ] || fail "undo does not name the program that bound itself: $(grep -A5 NOT said)"
	}
	for pid in 0 1 2; do
		[ "$(allowed ${bound[pid]})" = "$(echo 1 1-3 0-3 | cut -d' ' -f$((pid + 1)))" ] ||
			grep -q "affinity of sleep (${bound[pid]})" said || fail "program $pid may run on $(allowed ${bound[pid]}), and undo does not say so"
	done
	[ "$(old)" ] || [ "$(grep -c 'taskset -cp' said)" = 1 ] || fail "undo names others: $(grep 'taskset -cp' said)"
	kill "${bound[@]}"
	wait "${bound[@]}"
	balanced
	limited
}

old() { # a kernel that forgets affinities
	case $(uname -r) in 6.1.*) echo old ;; esac
}

allowed() { # PID
	sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$1/status
}

moved_or_named() { # VERIFY'S OUTPUT: has every interrupt left CPUs 2 and 3, or is it named?
	local directory number
	"$T-tune" --json verify >verdict.json
	for directory in /proc/irq/[0-9]*; do
		number=${directory##*/}
		case $(cat $directory/effective_affinity_list 2>/dev/null) in
		2 | 3 | 2-3) grep -q "\"/proc/irq/$number/smp_affinity_list\"" verdict.json || fail "interrupt $number comes to $(cat $directory/effective_affinity_list), and verify does not name it" ;;
		esac
	done
}

spread() { # the user is told that nobody spreads threads
	"$T-tune" run -- true 2>told
	grep -q 'nothing balances CPUs 2-3' told || fail "tune run does not say that threads stay: $(cat told)"
	OMP_PROC_BIND=true "$T-tune" run -- true 2>told
	[ ! -s told ] || fail "tune run says of a program that binds its threads: $(cat told)"
}

balanced() { # two threads that nobody binds use two CPUs
	local pid pids=()
	tune apply --cpus 2-3 --with balance
	[ "$(cat $groups/tacet/cpuset.cpus.partition)" = root ] || fail "the partition is $(cat $groups/tacet/cpuset.cpus.partition)"
	"$T-tune" run -- bash -c 'for i in 1 2; do while :; do :; done & done; echo $(jobs -p) >spinning; wait' 2>told &
	until_true "they compute" grep -q ' ' spinning
	[ ! -s told ] || fail "tune run says of a balanced partition: $(cat told)"
	read -ra pids <spinning
	until_true "they use two CPUs" apart "${pids[@]}"
	for pid in "${pids[@]}"; do kill -9 $pid; done
	wait $!
	tune verify
	tune undo
}

apart() { # PID PID: are they on two CPUs of the partition?
	local first second
	first=$(awk '{ print $39 }' /proc/$1/stat) second=$(awk '{ print $39 }' /proc/$2/stat)
	[ "$((first + second))" = 5 ] && [ "$first" != "$second" ]
}

limited() { # huge pages beyond the job's number are refused by mmap, whatever others may have
	tune job begin rich --cpus 1 --with huge-pages=32
	tune job begin poor --cpus 2 --with huge-pages=8
	for number in 8 24; do
		"$T-tune" run --job poor -- python3 - $number >mapped 2>&1 <<-'END'
			import mmap, sys
			size = int(sys.argv[1]) << 21
			try:
			    pages = mmap.mmap(-1, size, flags=0x40022)
			except OSError as error:
			    sys.exit(f"errno {error.errno}")
			for at in range(0, size, 1 << 21):
			    pages[at] = 1
			print("ok")
		END
		echo "$number: $(tail -1 mapped)" >>given
	done
	[ "$(cat given)" = "8: ok
24: errno 12" ] || fail "a job with 8 huge pages: $(cat given)"
	tune job end poor
	tune job end rich
}

# More CPUs are possible than there are, so masks have words; a disk's interrupts are managed.
possible() {
	objects >before
	# the newest kernels leave out sockets that the firmware calls empty
	[ "$(tr -cd , </proc/irq/default_smp_affinity)" ] || note "masks have one word: $(cat /proc/irq/default_smp_affinity)"
	"$T-tune" apply --cpus 2-3 >said || fail "apply: $(cat said)"
	tune verify
	grep -q 'boot with isolcpus=managed_irq,2-3' said || fail "managed interrupts are not named with their remedy: $(cat said)"
	moved_or_named
	"$T-tune" --json plan --cpus 2-3 >plan.json
	python3 - <<-'END' >open || fail "plan"
		import json
		refused = {json.dumps(o, sort_keys=True) for o in json.load(open("verdict.json"))["refused"] for o in [o.get("path")]}
		for part in json.load(open("plan.json"))["parts"]:
		    for step in part["changes"]:
		        if not step["in_force"] and json.dumps(step.get("path"), sort_keys=True) not in refused:
		            print(part["measure"], step)
	END
	[ ! -s open ] || fail "after apply, plan proposes: $(head -3 open)"
	returned
	tune undo
	! grep -q '^NOT' said || fail "undo: $(cat said)"
	objects >after
	# Linux 6.1 drops CPUs that are absent from an affinity, whoever sets it
	sed -i 's/\(Cpus_allowed_list:[[:space:]]*\)0-39$/\10-3/' before after
	diff before after >difference || fail "undo: $(head -4 difference | tr '\n' ';')"
}

returned() { # a disk's driver asks for its interrupts again
	local device
	device=$(readlink -f /sys/class/nvme/nvme0/device) || fail "no NVMe disk"
	echo 1 >$device/remove
	echo 1 >/sys/bus/pci/rescan
	until_true "the disk is back" test -e /sys/block/nvme0n1/queue/rq_affinity
	moved_or_named
	tune apply --cpus 2-3
	tune verify
	moved_or_named
}

# A service manager that reloads, and others who set CPU lists meanwhile.
reloaded() {
	systemctl is-system-running --wait >running
	systemd-run -q --unit=box -p Delegate=yes -p AllowedCPUs=1-3 sleep 1000 || fail "no box"
	lists >before
	tune apply --cpus 2-3
	systemctl daemon-reload
	systemctl set-property --runtime box AllowedCPUs=
	systemd-run -q --unit=late sleep 1000 || fail "no service"
	"$T-tune" --json verify >verdict.json
	for unit in box late; do
		pid=$(systemctl show -p MainPID --value $unit)
		case $(allowed $pid) in *[23]*) grep -q "$unit" verdict.json || fail "$unit may run on $(allowed $pid), and verify does not say so" ;; esac
	done
	tune undo
	! grep -q '^NOT' said || fail "undo: $(cat said)"
	systemctl stop late
	lists | grep -v /box.service/ >after
	grep -v /box.service/ before | diff - after >difference || fail "undo: $(head -4 difference | tr '\n' ';')"
	systemctl stop box
}

lists() { # every list of CPUs that a group has
	grep -r . $groups --include=cpuset.cpus --include=cpuset.cpus.partition 2>/dev/null | sort
}

scenario "$@"

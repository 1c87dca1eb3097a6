# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# users.sh: the rights of a user who is not root, and their limits towards others.
# Called by the runner with the name of a function.

. "$F/lib.sh"

says() { # ANSWER COMMAND...
	local want=$1 said
	shift
	said=$("$@" 2>&1)
	[ "$said" = "$want" ] || fail "$*: $said, not $want"
}

user_victim() { # USER: starts a victim of that user on Linux, sets $victim
	become "$1" $F/victim calls "$2" &
	victim=$!
	until_true "it begins" counted "$2"
}

closed_again() {
	kill -9 $(jobs -p) 2>/dev/null
	until_true "nothing is hosted" hosted 0
	chgrp 0 /dev/tacet
	chmod 600 /dev/tacet
	down
}

# The device is closed to all except root, then open to a group.
door() {
	up
	[ "$(stat -c %a /dev/tacet)" = 600 ] || fail "the device's mode is $(stat -c %a /dev/tacet)"
	says EACCES as 1000 $F/door status
	refused "" as 1000 $T run -- true
	opened
	says "1 0 0 $($F/door status | cut -d' ' -f4)" as 1000 $F/door status
	[ "$(as 1000 $T run -- id -u)" = 1000 ] || fail "a user's program does not run"
	says EPERM as 1000 $F/door down
	says EPERM as 1000 $F/door test 2 1
	refused "" as 1000 $T up --cpus 1 --memory 64M
	refused "" as 1000 $T log
	closed_again
}

# A user must not see, move or bring back programs of others.
others() {
	local mine
	up
	opened
	user_victim 1000 a.rounds
	mine=$victim
	says ok as 1000 $F/door decouple $mine
	until_true "it is hosted" hosted 1
	for what in decouple recouple follow; do
		says EPERM as 1001 $F/door $what $mine
	done
	says EPERM as 1001 $F/door move $mine 3
	says "" as 1001 $F/door list
	as 1000 $F/door list | grep -q "^$mine " || fail "its user does not see it"
	$F/door list | grep -q "^$mine " || fail "root does not see it"
	(echo $mine | as 1001 tee /sys/kernel/tacet/decouple) >/dev/null 2>&1 && fail "a user wrote to decouple"
	(echo -1 | as 1001 tee /sys/kernel/tacet/$mine/cpu) >/dev/null 2>&1 && fail "a user wrote to cpu"
	hosted 1 || fail "it is not hosted any more"
	alive a.rounds
	says ok as 1000 $F/door recouple $mine
	kill -9 $mine
	until_true "nothing is hosted" hosted 0
	busy_cores
	closed_again
}

# All cores are busy for longer than a core may keep Linux waiting that makes no progress. Calls that need a core wait for
# that, and can be killed; nobody else is.
busy_cores() {
	local doomed sibling
	echo 8 >/proc/sys/kernel/watchdog_thresh
	become 1000 $T run --no-populate -- $F/sibling said.calls &
	sibling=$!
	until_true "its children wait" grep -q child said.calls
	for cpu in 2 3; do says ok $F/door test $cpu 7; done
	touch go
	doomed=$(sed -n 's/^child //p' said.calls)
	until_true "a call waits for a core" waits_for_core $doomed
	kill -9 $doomed
	until_true "a waiting task is killed" gone_or_zombie $doomed
	[ "$(wc -l <said.calls)" = 1 ] || fail "the cores were not busy: $(xargs <said.calls)"
	until_true "all calls end" says_all said.calls
	ended $sibling 0
	dmesg | grep -E "soft lockup|rcu.*stall|blocked for more" && fail "Linux's log: $(dmesg | grep -A4 -E 'soft lockup|rcu.*stall|blocked for more')"
	return 0
}

says_all() { # FILE
	[ "$(grep -v child "$1" | sort | xargs)" = "barrier filter wake" ]
}

waits_for_core() { # PID
	grep -q tacet_await "/proc/$1/stack"
}

gone_or_zombie() { # PID
	! [ -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"
}

# Root's programs, programs that changed their user, and programs that may not be traced.
guarded() {
	up
	opened
	victim compute
	for what in decouple recouple; do says EPERM as 1000 $F/door $what $victim; done
	says EPERM as 1000 $F/door decouple 1
	become 1000 python3 -c 'import ctypes, time
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
open("ready", "w").close()
time.sleep(1000)' &
	until_true "it begins" test -e ready
	says EPERM as 1000 $F/door decouple $!
	says ESRCH as 1000 $F/door decouple 3999999
	says EINVAL as 1000 $F/door decouple -1
	says EINVAL $F/door decouple 2
	cp /usr/bin/sleep asroot
	chmod 4755 asroot
	become 1000 ./asroot 1000 &
	until_true "it executes" runs asroot
	says EPERM as 1000 $F/door decouple $!
	hosted 1 || fail "another program is hosted: $($F/door list)"
	closed_again
}

# Programs with rights that their user does not have stay on Linux, and what they start too, unless root has asked.
privileged() {
	local program
	up --memory 128M --mix-users 2>/dev/null	# root's choice is about programs of other users
	opened
	for program in plain asroot asgroup capable hidden; do cp /usr/bin/sleep $program; done
	chmod 4755 asroot
	chgrp 501 asgroup
	chmod 2755 asgroup
	chmod 711 hidden
	python3 -c 'import os, struct
os.setxattr("capable", "security.capability", struct.pack("<5I", 0x2000001, 1 << 10, 0, 0, 0))'
	for program in asroot asgroup capable hidden; do
		become 1000 $T run --follow --memory all --no-populate -- ./$program 1000 &
		until_true "$program executes" runs $program
		until_true "nothing is hosted" hosted 0
		sleep 0.3
		hosted 0 || fail "$program is hosted: $($F/door list)"
		$T log | grep -q "($program): stays on Linux: a privileged program" || fail "$program: the log does not say so"
		grep -q tacet /proc/$!/maps && fail "$program has a range"
		kill -9 $!
	done
	# its parent stays hosted, with its range, whichever way it starts it
	become 1000 $T run --follow -- python3 -c 'import subprocess, time
subprocess.run(["./asroot", "0.1"], close_fds=False)
open("started", "w").close()
time.sleep(1000)' &
	until_true "it is back" test -e started
	hosted 1 || fail "the parent is not hosted: $($F/door list)"
	$T log | grep "process $! .*its range" && fail "the parent's range was handed over"
	kill -9 $!
	until_true "nothing is hosted" hosted 0
	become 1000 $T run -- ./plain 1000 &
	until_true "an ordinary program is hosted" hosted 1
	kill -9 $!
	until_true "nothing is hosted" hosted 0
	$T run -- setpriv --reuid=1000 --clear-groups ./asroot 1000 &
	until_true "it executes" runs asroot
	hosted 1 || fail "root asked for it, and it is not hosted"
	kill -9 $!
	closed_again
}

# The image is code for the kernel's own mode: who gives it needs the right to load modules, and once Linux accepts only
# verified code, only the image runs that the module was built with. Nothing takes the second back but a boot.
images() {
	other_image
	refused CAP_SYS_MODULE setpriv --bounding-set=-sys_module "$T" up --cpus 2 --memory 64M
	up --image other.bin
	down
	mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security
	echo integrity >/sys/kernel/security/lockdown || fail "this kernel has no lockdown"
	locked_down
}

# Firmware that lets only signed code run: Linux then locks itself down, and accepts the module only if a key of the
# firmware signed it.
secure_boot() {
	local module=lib/tacet/modules/$(uname -r)/tacet.ko
	grep -q '\[integrity\]' /sys/kernel/security/lockdown || fail "Linux did not lock itself down"
	refused "Key was rejected" insmod "$TOP/build/$module"
	insmod "${F%/*}/signed/tacet.ko" test_hooks=1
	other_image
	locked_down
	rmmod tacet
}

other_image() { # makes other.bin, an image that no module was built with
	cp "${T%/bin/*}/lib/tacet/kernel.bin" other.bin
	printf x | dd of=other.bin bs=1 seek=$(($(stat -c %s other.bin) - 1)) conv=notrunc status=none
}

locked_down() {
	refused "only signed code" "$T" up --cpus 2 --memory 64M --image other.bin
	[ -e /sys/devices/system/cpu/cpu2/online ] && [ "$(cat /sys/devices/system/cpu/cpu2/online)" = 1 ] ||
		fail "the CPU did not come back"
	up
	[ "$($T run --follow -- sh -c 'id -u; nproc')" = "0
2" ] || fail "a program does not run under lockdown"
	down
}

# Linux charges the time on cores to the program's control group, as to the program.
group_time() {
	up
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
	mkdir /sys/fs/cgroup/tacet-test
	T=$T python3 - <<-'PYTHON' || fail "the group's time is not the program's"
		import os, resource, subprocess
		group = "/sys/fs/cgroup/tacet-test/"
		subprocess.run([os.environ["T"], "run", "--no-populate", "--", "python3", "-c", "for i in range(2000000): pass"],
		               preexec_fn=lambda: open(group + "cgroup.procs", "w").write("0"), check=True)
		program = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
		charged = int(dict(line.split() for line in open(group + "cpu.stat"))["usage_usec"]) / 1e6
		print(f"note: program {program:.2f} s, group {charged:.2f} s", flush=True)
		assert program > 0.2 and 0.8 * program < charged
	PYTHON
	rmdir /sys/fs/cgroup/tacet-test
	down
}

marks() { # how often the mark of TACET_TEST_FIND is in the partition's memory
	[ "$($F/door test 2 11)" = ok ] || fail "the mark is not looked for"
	$T log | sed -n 's/.*the mark is in the partition.s memory \([0-9]*\) times.*/\1/p' | tail -1
}

ends() { # PID
	kill -9 "$1"
	wait "$1"
}

fill_with_marks() { # nearly all memory that Linux has free, and frees it again
	local megabytes
	megabytes=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024 - 150))
	printf '\167\356\377\300\345\245\334\036' >mark
	until [ "$(stat -c %s mark)" = $((16 << 20)) ]; do
		cat mark mark >twice
		mv twice mark
	done
	mkdir filled
	mount -t tmpfs -o size=100% filled filled
	while [ $((megabytes -= 16)) -gt 0 ]; do cat mark; done >filled/marks
	umount filled
}

# Linux does not clear memory that it hands out: the partition's first user finds nothing of what Linux's users left. The
# partition is larger than what the filling spares: some of it was filled, wherever it lies.
left_by_linux() {
	fill_with_marks
	up --cpus 2 --memory 384M
	opened
	[ "$(marks)" -gt 0 ] || fail "the partition has no memory that was used before: this test shows nothing"
	[ "$(as 1000 $T run -- id -u)" = 1000 ] || fail "the first user's program does not run"
	[ "$(marks)" = 0 ] || fail "the first user could find the mark $(marks) times"
	closed_again
}

# On a processor where one program can read another's memory the partition has one user at a time, and nothing of his is
# left for the next. Linux says so of each emulated processor, since it defends itself by retpolines.
apart() {
	local first
	left_by_linux
	up --cpus 2
	opened
	$T status | grep -q "^isolation  one user at a time; between users a core clears: .*predicted returns" ||
		fail "status: $($T status | grep isolation)"
	$T doctor --json | grep -q "one user at a time.*because of .*spectre_v2" || fail "doctor does not say why"
	become 1000 $T run -- $F/victim marks m.rounds &
	first=$!
	until_true "it begins" counted m.rounds
	$T status | grep -q "(now uid 1000)" || fail "status names no user"
	[ "$(marks)" -ge 524288 ] || fail "its memory has the mark $(marks) times"
	refused "another user's programs are there" as 1001 $T run -- true
	refused "another user's programs are there" $T run -- true
	become 1001 $F/victim compute o.rounds &
	until_true "another user's begins" counted o.rounds
	says EUSERS as 1001 $F/door decouple $!
	alive m.rounds
	# its own user's programs come and go
	[ "$(as 1000 $T run -- id -u)" = 1000 ] || fail "its own user's program does not run"
	ends $first
	[ "$(marks)" -ge 524288 ] || fail "the mark is gone before another user comes: this test shows nothing"
	[ "$(as 1000 $T run -- id -u)" = 1000 ] || fail "its own user's next program does not run"
	[ "$(marks)" -ge 1 ] || fail "the mark is gone before another user comes"
	[ "$(as 1001 $T run -- id -u)" = 1001 ] || fail "another user's program does not run after that"
	[ "$(marks)" = 0 ] || fail "another user could find the mark $(marks) times"
	waits_for_another_user
	changes_its_user
	closed_again
	up --mix-users 2>/dev/null
	opened
	$T status | grep -q "mixed by root" || fail "status does not say that users are mixed"
	become 1000 $T run -- $F/victim compute p.rounds &
	until_true "it begins" counted p.rounds
	[ "$(as 1001 $T run -- id -u)" = 1001 ] || fail "users are not mixed"
	closed_again
}

held() { # the most that the core's stack has held
	$T status --json | sed -n 's/.*"stack_bytes": \([0-9]*\),*/\1/p'
}

# A user who is told to wait waits for as long as he says, or until the other user's programs have ended.
waits_for_another_user() {
	local first waiter
	become 1000 $T run -- $F/victim compute q.rounds &
	first=$!
	until_true "it begins" counted q.rounds
	as 1001 $T run --wait=1 -- true 2>waits && fail "another user runs beside it"
	[ "$(grep -c "waits until the programs of user" waits)" = 1 ] || fail "it says: $(cat waits)"
	tail -1 waits | grep -q "another user's programs are there" || fail "it says at the end: $(cat waits)"
	become 1001 $T run --wait -- id -u >waited 2>waits &
	waiter=$!
	until_true "it waits" grep -q "waits until the programs of user" waits
	[ ! -s waited ] && alive q.rounds
	ends $first
	wait $waiter || fail "it ended with $?: $(cat waits)"
	[ "$(cat waited)" = 1001 ] || fail "it ran as $(cat waited)"
}

# A core's stack is measured while nothing runs, grows with what runs, stays below what `cargo xtask quality` allows, and
# what one user's programs needed of it is not forgotten when it is cleared for the next user's.
stack() {
	local idle used last
	up --cpus 2
	opened
	idle=$(held)
	[ "$idle" -gt 0 ] && [ "$idle" -lt 12288 ] || fail "the stack of a core without programs has held $idle bytes"
	# its heap moves, for which the core needs more than for what `true` does
	as 1000 $T run -- python3 -c 'b = bytearray(1 << 23)
for _ in range(8): b.extend(bytes(1 << 21))' || fail "a program that grows ended with $?"
	used=$(held)
	[ "$used" -gt "$idle" ] || fail "the stack has held $idle bytes before a program, $used after it"
	as 1001 $T run -- true || fail "another user's program ended with $?"
	last=$(held)
	[ "$last" -ge "$used" ] && [ "$last" -le 12288 ] || fail "the stack has held $used bytes for one user, $last after another"
	note "$idle bytes without programs, $last with them"
	closed_again
}

# A program that becomes another user's continues on Linux.
changes_its_user() {
	$T run -- setpriv --reuid=1002 --regid=1002 --clear-groups $F/victim compute c.rounds &
	until_true "it begins" counted c.rounds
	until_true "nothing is hosted" hosted 0
	alive c.rounds
	$T log | grep -q "it has another user now" || fail "the log does not say why"
	kill -9 $!
}

runs() { # NAME
	pgrep -x "$1" >/dev/null
}

# In a container, pids are those of the container.
namespaces() {
	up
	unshare --pid --fork --mount-proc bash -c "$F/victim compute n.rounds & echo \$! >inner
		until [ -s n.rounds ]; do sleep 0.1; done
		$F/door decouple \$(cat inner) >answer; $F/door list | cut -d' ' -f1 >listed; wait" &
	until_true "it is hosted" hosted 1
	until_true "it is listed" test -s listed
	[ "$(cat answer)" = ok ] || fail "decouple: $(cat answer)"
	[ "$(cat listed)" = "$(cat inner)" ] || fail "listed as $(cat listed), not $(cat inner)"
	alive n.rounds
	pkill -9 -x victim
	wait
	until_true "nothing is hosted" hosted 0
	down
}

scenario "$@"

# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# users.sh: the rights of a user who is not root, and their limits towards others.
# Called by the runner with the name of a function.

. "$F/lib.sh"

become() { # USER COMMAND...: replaces the shell; the only groups are its own and 500. In the background, $! is the command.
	local user=$1
	shift
	exec setpriv --reuid="$user" --regid="$user" --groups 500 "$@"
}

as() { # the same, and waits
	(become "$@")
}

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

opened() {
	chgrp 500 /dev/tacet
	chmod 660 /dev/tacet
	chmod 777 .
}

closed_again() {
	kill -9 $(jobs -p)
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
	closed_again
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
	another_proc >said || fail "another /proc: $(cat said)"
	[ "$(xargs <said)" = "file 2 pipe 2 device 2 ourselves 2 nothing 2" ] || fail "another /proc: $(cat said)"
}

# /proc/tacet/maps reads Linux's /proc/self/maps by name. It must fail if that name means another file in the caller's
# mount tree.
another_proc() {
	unshare --user --map-root-user --mount python3 - <<-'PYTHON'
		import os, subprocess
		ours = os.open("/proc/tacet", os.O_RDONLY)
		assert os.read(os.open("maps", os.O_RDONLY, dir_fd=ours), 100)
		os.mkdir("kept")
		subprocess.run("mount --rbind /proc kept && mount -t tmpfs none /proc", shell=True, check=True)
		os.mkdir("/proc/self")
		def as_a(what, make):
		    make("/proc/self/maps")
		    try:
		        os.open("maps", os.O_RDONLY, dir_fd=ours)
		        print(what, "opened", end=" ")
		    except OSError as error:
		        print(what, error.errno, end=" ")
		    if os.path.lexists("/proc/self/maps"):
		        os.remove("/proc/self/maps")
		as_a("file", lambda path: open(path, "w").close())
		as_a("pipe", os.mkfifo)
		as_a("device", lambda path: os.symlink("/dev/zero", path))
		as_a("ourselves", lambda path: os.symlink(os.path.abspath("kept/tacet/maps"), path))
		as_a("nothing", lambda path: None)
	PYTHON
}

scenario "$@"

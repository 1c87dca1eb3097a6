# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# ends.py: HPL starts and ends again and again, while CPUs go and come, with tasks and without. Called by sched.sh with
# the number of rounds; prints "fail: REASON" lines, and where the kernel waits if an end takes long.

import glob, os, signal, subprocess, sys, time

from hpl import *

PATIENCE_S = 10


def blocked():
    """The stacks of all tasks that wait for the kernel, and of its helper threads for schedulers."""
    for task in glob.glob("/proc/[0-9]*/task/[0-9]*"):
        try:
            with open(f"{task}/comm") as comm, open(f"{task}/stat") as stat, open(f"{task}/stack") as stack:
                name, fields = comm.read().strip(), stat.read().rsplit(")", 1)[1].split()
                if fields[0] == "D" or name.startswith(("sched_ext", "scx_", "cpuhp", "rcu_preempt", "tacet-sched")):
                    yield f"{name} {fields[0]} cpu {fields[36]}: " + " < ".join(line.split()[-1] for line in stack)
        except OSError:
            pass


def rcu():
    """The number of RCU's thread."""
    for name in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(name) as comm:
                if comm.read().startswith("rcu_preempt"):
                    return int(name.split("/")[2])
        except OSError:
            pass
    fail("RCU has no thread")


def multiply(cpu):
    """Starts a process group that creates tasks that compute. While HPL ends, such tasks come before all others."""
    pid = os.fork()
    if pid:
        children.add(pid)
        return pid
    os.setpgid(0, 0)
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        if os.fork() == 0:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                pass
            os._exit(0)
        time.sleep(0.02)


def among_new_tasks():
    """While tasks that compute are created on every CPU, RCU's threads, for which the end waits, come first."""
    tacet("start")
    groups = [multiply(cpu) for cpu in online()]
    time.sleep(1)
    thread, urgent = rcu(), False
    stop = subprocess.Popen([f"{TACET}-sched", "stop"])
    while stop.poll() is None:
        urgent |= os.sched_getscheduler(thread) == os.SCHED_FIFO
        time.sleep(0.02)
    for group in groups:
        os.killpg(group, signal.SIGKILL)
    end(*groups)
    check(stop.returncode == 0, "the end among new tasks did not come")
    check(urgent, "RCU's thread was not real-time during the end")
    check(os.sched_getscheduler(thread) == os.SCHED_OTHER, "RCU's thread stays real-time")


def bounded(what, *words):
    """Runs a command; says where the kernel waits if it takes long."""
    begin, told = time.monotonic(), False
    program = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while program.poll() is None:
        if not told and time.monotonic() - begin > PATIENCE_S:
            told = True
            for line in blocked():
                print(f"note: {what} takes long: {line}", flush=True)
            with open("/proc/sysrq-trigger", "w") as file:
                file.write("w")
        time.sleep(0.1)
    check(program.returncode == 0, f"{what}: {program.stdout.read().strip()}")


def again_and_again(rounds):
    first()
    scheduler = f"{TACET}-sched"
    partition = os.path.exists("/dev/tacet")
    gone = online()[-2]
    for number in range(rounds):
        bounded("a start", scheduler, "start")
        bounded("an end at once", scheduler, "stop")
        if partition:
            bounded("up", TACET, "up", "--cpus", str(gone + 1), "--memory", "64M")
        bounded("a start", scheduler, "start")
        tasks = [spin() for _ in range(3 + number % 3)] + [spin(join=False) for _ in range(number % 3)]
        time.sleep(1)
        if partition:
            bounded("down", TACET, "down")
        tasks += [spin() for _ in range(4)]
        for value in (0, 1):
            bounded(f"cpu {gone}", "sh", "-c", f"echo {value} >{CPUS}/cpu{gone}/online")
            time.sleep(1)
        if number % 2:
            end(*tasks)
        bounded("the end", scheduler, "stop")
        with open("/sys/kernel/sched_ext/state") as file:
            check(file.read().strip() == "disabled", "the kernel still has a scheduler")
        if not number % 2:
            end(*tasks)
    print(f"note: {rounds} rounds", flush=True)


again_and_again(int(sys.argv[1]))
among_new_tasks()

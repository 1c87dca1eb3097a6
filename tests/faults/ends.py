# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# ends.py: HPL starts and ends again and again, while CPUs go and come, with tasks and without. Called by sched.sh with
# the number of rounds; prints "fail: REASON" lines, and where the kernel waits if an end takes long.

import glob, os, subprocess, sys, time

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

# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# kept.py: tests that what `tacet sched start --keep` names answers while HPC tasks compute on every CPU. Called
# by sched.sh with the name of a function; prints "fail: REASON" lines, or nothing.

import os, subprocess, sys, time

from hpl import *


def answers(line, times):
    """Whether a shell answers so many lines, one after the other; the parent has no CPU of its own meanwhile."""
    for number in range(times):
        line.stdin.write(f"echo {number}\n")
        line.stdin.flush()
        if line.stdout.readline() != f"{number}\n":
            return False
    return True


def enter(group):
    with open(f"{group}/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))


def shell(user=None, group=None):
    """Starts a normal shell of a user, or in a control group, that answers on a pipe."""

    def begin():
        if group:
            enter(group)
        if user:
            os.setresuid(user, user, user)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    return subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=begin)


def total():
    said = status()
    check(said["state"] == "loaded", f"HPL ended: {said['end']}")
    return said["total"]


def kept():
    """While HPC tasks compute on every CPU, what was kept answers without a trickle; others wait for one."""
    folder = "/sys/fs/cgroup/hpl.kept"
    os.makedirs(folder, exist_ok=True)
    start("--keep", "1001", "--keep", "hpl.kept", "--trickle", "100ms", "--trickle-period", "3s")
    first()
    cpus = online()
    tasks = [spin() for _ in cpus]
    until("all are placed", lambda: sum(processes().values()) == len(cpus))
    for who, line in (("a kept user's shell", shell(user=1001)), ("a shell in a kept group", shell(group=folder))):
        check(answers(line, 1), f"{who} does not begin")
        then = total()
        check(answers(line, 50), f"{who} does not answer")
        now = total()
        ran = now["kept_on_hpc"] - then["kept_on_hpc"]
        # each answer needs at least one switch to the shell; those within a trickle count as the trickle's
        check(ran >= 25, f"{who} was switched to {ran} times in 50 answers")
        beside = now["normal_on_hpc"] - then["normal_on_hpc"]
        check(beside == 0, f"{beside} tasks that are not kept ran beside HPC tasks")
        end_shell(line)
    # the kernel's workers are kept for a second after a kept task, and may wait for one period more
    time.sleep(1.5)
    # one that is not kept runs in a trickle only, and may answer twice in one; it also ends by one
    other = shell(user=1002)
    then = total()
    check(answers(other, 2), "the other shell does not answer")
    now = total()
    check(now["kept_on_hpc"] == then["kept_on_hpc"], "a shell that is not kept ran as if it were")
    check(now["normal_on_hpc"] == then["normal_on_hpc"], "a shell that is not kept ran outside of a trickle")
    until("the trickle's time is counted", lambda: total()["trickle_ns"] > then["trickle_ns"])
    end_shell(other)
    # kept tasks that compute get no more than their share: every HPC task has most of its CPU
    hungry = []
    for cpu in cpus:

        def begin():
            enter(folder)
            os.sched_setaffinity(0, {cpu})
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

        hungry.append(child(begin))
    time.sleep(1)
    before = {pid: progress(pid) for pid in [*hungry, *tasks]}
    for pid in hungry:
        until(f"the kept process {pid} has turns", lambda: progress(pid) > before[pid])
    until("every HPC task continues", lambda: all(progress(pid) > before[pid] + 200 for pid in tasks))
    # CPU by CPU: this process, which is real-time, and the emulator's host take from each as they like
    had = {runs_on(task): progress(task) - before[task] for task in tasks}
    greedy = [(progress(pid) - before[pid], had[cpu]) for cpu, pid in zip(cpus, hungry) if progress(pid) - before[pid] > had[cpu]]
    check(not greedy, f"kept processes had more than the HPC task of their CPU: {greedy} ms")
    total()
    end(*hungry, *tasks)
    tacet("stop")
    os.rmdir(folder)


def end_shell(line):
    line.stdin.close()
    line.wait()


globals()[sys.argv[1]]()

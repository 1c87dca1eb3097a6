# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# reports.py: cases from public bug reports of similar schedulers, with their right results: a real-time program that
# computes, affinities that change, CPUs that come after the start, policies as tools see them. Called by sched.sh with
# the name of a function; prints "fail: REASON" lines, or nothing.

import os, random, signal, subprocess, sys, time

from hpl import *

RESET_ON_FORK = 0x40000000
STATE = "/sys/kernel/sched_ext/state"
RT_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"


def state():
    with open(STATE) as file:
        return file.read().strip()


def hog(cpu):
    """Starts a real-time program that never sleeps, on one CPU."""

    def begin():
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

    return child(begin)


def all_progress(pids, what, patience=120):
    before = {pid: progress(pid) for pid in pids}
    for pid in pids:
        until(f"{what}: process {pid} progresses", lambda: progress(pid) > before[pid], patience)


def real_time_hog():
    """A real-time program fills a CPU for longer than the kernel's watchdog waits: HPL stays, and its task there runs."""
    first()
    start()
    *_, free, full = online()
    beside, other = spin(to=full), spin(to=free)
    until("they are placed", lambda: sum(processes().values()) == 2)
    rival = hog(full)
    for _ in range(4):
        all_progress([beside, other], "beside a real-time program")
        time.sleep(10)
        check(state() == "enabled", "the class ended")
    end(rival)
    all_progress([beside, other], "after it")
    end(beside, other)
    tacet("stop")


def real_time_without_limit():
    """The same, and the real-time program may take all time: if the kernel ends HPL, HPL says why, and tasks go on."""
    with open(RT_RUNTIME) as file:
        before = file.read()
    with open(RT_RUNTIME, "w") as file:
        file.write("-1")
    first()
    start()
    *_, free, full = online()
    beside, other = spin(to=full), spin(to=free)
    until("they are placed", lambda: sum(processes().values()) == 2)
    rival = hog(full)
    ends = time.monotonic() + 90
    while time.monotonic() < ends and state() == "enabled":
        all_progress([other], "on another CPU")
        time.sleep(2)
    end(rival)
    with open(RT_RUNTIME, "w") as file:
        file.write(before)
    all_progress([beside, other], "after it")
    if state() != "enabled":
        until("HPL has noticed", lambda: status()["state"] == "ended")
        said = tacet("status").splitlines()
        check(len(said) == 1 and said[0].startswith("HPL ended (") and "Linux's own scheduler schedules" in said[0], f"it says {said}")
        end(beside, other)
    else:
        end(beside, other)
        tacet("stop")


def changing_affinities():
    """Every CPU computes, one has many tasks that may run nowhere else, and all affinities change all the time."""
    first()
    start()
    cpus = online()
    tasks = [spin(to=cpus[-1]) for _ in range(6)] + [spin(to=cpu) for cpu in cpus[:-1]]
    normal = [spin(join=False, to=cpus[-1]) for _ in range(4)]
    began = {pid: progress(pid) for pid in tasks + normal}
    wrong = {}
    for _ in range(20):
        for pid in tasks:
            to = random.choice(cpus)
            os.sched_setaffinity(pid, {to})
            # a look between the call and the move may still see the old CPU; two looks in a row may not
            wrong[pid] = wrong.get(pid, 0) + 1 if runs_on(pid) != to else 0
        time.sleep(0.2)
        for pid in tasks:
            (allowed,) = os.sched_getaffinity(pid)
            wrong[pid] = wrong[pid] + 1 if runs_on(pid) != allowed else 0
            check(wrong[pid] < 6, f"process {pid} stays on cpu {runs_on(pid)}, may run on {allowed}")
        check(state() == "enabled", "the class ended")
    for pid in tasks + normal:
        until(f"process {pid} ran", lambda: progress(pid) > began[pid])
    end(*tasks, *normal)
    tacet("stop")


def later_cpus():
    """HPL starts beside an offline CPU, which comes later; another one goes and comes. All tasks progress, HPL stays."""
    first()
    *rest, last = online()
    set_online(last, 0)
    start()
    tasks = [spin() for _ in rest]
    until("each has a CPU", lambda: sorted(runs_on(pid) for pid in tasks) == rest)
    set_online(last, 1)
    tasks += [spin()]
    normal = spin(join=False, to=last)
    all_progress([*tasks, normal], "beside a CPU that came later")
    rows = [row["cpu"] for row in status()["cpus"]]
    check(rows == sorted(rows) and set(rest) <= set(rows), f"status has rows for {rows}")
    set_online(rest[-1], 0)
    all_progress(tasks, "without another CPU")
    set_online(rest[-1], 1)
    all_progress(tasks, "with it again")
    check(state() == "enabled", "the class ended")
    end(*tasks, normal)
    tacet("stop")
    check(state() == "disabled", "it ended when it was told to")


def inherited():
    """The policy of a child."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writable, str(os.sched_getscheduler(0)).encode())
        os._exit(0)
    os.close(writable)
    os.waitpid(pid, 0)
    said = os.read(readable, 20).decode()
    os.close(readable)
    return said


def said_of_policies():
    """What the kernel says of each policy in turn, of the task and of its child."""
    said = []
    for policy in (POLICY, POLICY | RESET_ON_FORK, os.SCHED_OTHER, os.SCHED_BATCH, POLICY, os.SCHED_FIFO, POLICY):
        try:
            os.sched_setscheduler(0, policy, os.sched_param(1 if policy == os.SCHED_FIFO else 0))
            said.append((policy, os.sched_getscheduler(0), inherited()))
        except OSError as error:
            said.append((policy, error.errno))
    return said


def policies_of(*prefix):
    program = [sys.executable, os.path.abspath(__file__), "print_policies"]
    done = subprocess.run([*prefix, *program], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"{prefix}: {done.stderr.strip()}")
    return done.stdout


def print_policies():
    print(said_of_policies())


def policies():
    """Membership is the policy SCHED_EXT, so what tools read and what children get is as without HPL."""
    without = policies_of()
    check(f"({POLICY}, {POLICY}, '{POLICY}')" in without, f"the kernel itself says {without}")
    start()
    check(policies_of() == without, "beside HPL")
    check(policies_of(f"{TACET}-sched", "run", "--") == without, "in HPL")
    first()
    before = sum(row["hpc_tasks"] for row in status()["cpus"])
    task = spin()
    until("status counts it", lambda: sum(row["hpc_tasks"] for row in status()["cpus"]) == before + 1)
    end(task)
    tacet("stop")


def brief_tasks():
    """Tasks that end on a CPU without a tick, by the hundred: HPL ends when it is told to, and the kernel has no complaint."""
    *_, last = online()
    script = f"import os\nos.sched_setaffinity(0, {{{last}}})\nfor _ in range(200):\n  if os.fork() == 0: os._exit(0)\n  os.wait()"
    start()
    programs = [subprocess.Popen([f"{TACET}-sched", "run", "--", sys.executable, "-c", script]) for _ in range(2)]
    programs.append(subprocess.Popen([sys.executable, "-c", script]))
    for program in programs:
        check(program.wait() == 0, "a program of brief tasks failed")
    check(state() == "enabled", "the class ended")
    tacet("stop")
    check(state() == "disabled", "a scheduler is left")


if __name__ == "__main__":
    globals()[sys.argv[1]]()

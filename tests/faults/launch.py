# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# launch.py: tests HPL's promises to MPI jobs, on CPUs without a tick, and about its own size.
# Called by sched.sh with the name of a function; prints "fail: REASON" lines, or nothing.

import os, subprocess, sys, time

from hpl import *

CORES = "topology/thread_siblings_list"


def job(ranks, command):
    """Starts a job of mpiexec whose ranks write their process numbers and then compute for ever."""
    if os.path.exists("ranks"):
        os.remove("ranks")
    program = subprocess.Popen([f"{TACET}-sched", "run", "--", "mpiexec", "-n", str(ranks), "sh", "-c", command])
    children.add(program.pid)

    def numbers():
        if not os.path.exists("ranks"):
            return []
        with open("ranks") as file:
            return [int(line) for line in file.read().split("\n")[:-1]]

    until(f"{ranks} ranks compute", lambda: len(numbers()) == ranks)
    return program, numbers()


def mpi():
    """mpiexec, its proxy, and shells between them and the ranks never occupy a rank's core or CPU."""
    start()
    first()
    cores = {cpu: read(cpu, CORES) for cpu in online()}
    rank = "echo $$ >>ranks; while :; do :; done"
    shell = f"sh -c '{rank}'; exit 1"
    for command in (rank, shell):
        for ranks in (len(set(cores.values())), len(cores)):
            program, pids = job(ranks, command)
            where = sorted(runs_on(pid) for pid in pids)
            print(f"note: {ranks} ranks on cpus {where}", flush=True)
            check(len({cores[cpu] for cpu in where}) == min(ranks, len(set(cores.values()))), f"{ranks} ranks: not each core has one: {where}")
            check(len(set(where)) == ranks, f"{ranks} ranks: two share a cpu: {where}")
            then = status()["total"]
            time.sleep(2)
            moved = status()["total"]["migrations"]["hpc"] - then["migrations"]["hpc"]
            check(moved == 0, f"{ranks} ranks: HPC tasks moved {moved} times")
            program.terminate()
            program.wait()
            children.discard(program.pid)
            until("the job is gone", lambda: sum(processes().values()) == 0)
    tacet("stop")


def budget():
    """The kernel's verifier visits at most as many instructions as the limit given here."""
    start()
    said = status()
    tacet("stop")
    limit, most = said["verified_instructions_limit"], max(said["programs"], key=lambda program: program["verified_instructions"])
    check(len(said["programs"]) >= 15, f"only {len(said['programs'])} programs are known")
    check(0 < most["verified_instructions"] <= limit, f"{most} is over {limit}")
    print(f"note: at most {most['verified_instructions']} instructions verified ({most['name']})", flush=True)


def timer_interrupts(seconds):
    """Interrupts of each CPU's own timer in this time: ticks and other timers."""

    def now():
        with open("/proc/interrupts") as file:
            counts = next(line.split()[1:] for line in file if line.strip().startswith("LOC:"))
        return dict(zip(online(), map(int, counts)))

    before = now()
    time.sleep(seconds)
    after = now()
    return {cpu: after[cpu] - before[cpu] for cpu in after}


def widened():
    """Tasks bound to one CPU get one CPU each when all CPUs are allowed again, and stay when the same CPUs are set once more."""
    start()
    first()
    cpus = online()
    tasks = [spin(to=cpus[0]) for _ in cpus]
    until("all are on one CPU", lambda: processes()[cpus[0]] == len(cpus))
    then = status()["total"]
    for pid in tasks:
        os.sched_setaffinity(pid, cpus)
    until("each has its CPU", lambda: sorted(runs_on(pid) for pid in tasks) == cpus)
    check(all(count == 1 for count in processes().values()), f"the books say {processes()}")
    now = status()["total"]
    moved, rebound = now["migrations"]["hpc"] - then["migrations"]["hpc"], now["rebound"] - then["rebound"]
    check(moved == rebound >= len(cpus) - 1, f"HPC tasks moved {moved} times, {rebound} times because more CPUs were allowed")
    places = {pid: runs_on(pid) for pid in tasks}
    for pid in tasks:
        os.sched_setaffinity(pid, cpus)
    time.sleep(1)
    check({pid: runs_on(pid) for pid in tasks} == places, "a task moved without need")
    end(*tasks)
    tacet("stop")


def tickless():
    """With nohz_full, an HPC task that is alone on its CPU gets no tick; two tasks get one."""
    with open("/sys/devices/system/cpu/nohz_full") as file:
        quiet = list(numbers(file.read()))
    check(quiet, "the node was not booted with nohz_full")
    start()
    first()
    home = next(cpu for cpu in online() if cpu not in quiet)
    os.sched_setaffinity(0, {home})
    tasks = [spin(to=cpu) for cpu in quiet]
    until("each has its CPU", lambda: sorted(runs_on(pid) for pid in tasks) == quiet)
    windows = []

    def silent():
        """Earlier work may cause a timer interrupt or two, so one window without them is enough."""
        windows.append(timer_interrupts(5))
        return not any(windows[-1][cpu] for cpu in quiet)

    until("five seconds without a tick on any of them", silent)
    print(f"note: timer interrupts in 5 s {windows}", flush=True)
    check(windows[-1][home] > 100, f"the clock of cpu {home} does not tick either: {windows[-1]}")
    second = spin(to=quiet[0])
    until("a second one is there", lambda: processes()[quiet[0]] == 2)
    until("the clock ticks for two", lambda: timer_interrupts(1)[quiet[0]] > 0)
    end(second, *tasks)
    tacet("stop")


globals()[sys.argv[1]]()

# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# launch.py: what HPL promises to MPI jobs, on CPUs without a tick, and about its own size.
# Called by sched.sh with the name of a function; prints "fail: REASON" lines, or nothing.

import os, subprocess, sys, time

from hpl import *

CORES = "topology/thread_siblings_list"


def job(ranks, command):
    """A job of mpiexec whose ranks write their process numbers and then compute for ever."""
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
    """mpiexec, its proxy and shells between them and the ranks keep no rank from a core, or a CPU, of its own."""
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
    """The kernel's verifier follows no more instructions than this program's limit."""
    start()
    said = status()
    tacet("stop")
    limit, most = said["verified_instructions_limit"], max(said["programs"], key=lambda program: program["verified_instructions"])
    check(len(said["programs"]) >= 15, f"only {len(said['programs'])} programs are known")
    check(0 < most["verified_instructions"] <= limit, f"{most} is over {limit}")
    print(f"note: at most {most['verified_instructions']} instructions verified ({most['name']})", flush=True)


TRACING = "/sys/kernel/tracing"
TICK = ("tick_nohz_handler", "tick_sched_timer")


def write(name, text):
    with open(f"{TRACING}/{name}", "w") as file:
        file.write(text)


def ticks(seconds):
    """How often the tick's timer fired on each CPU in this time: every firing is an event."""
    write("trace", "")
    write("events/timer/hrtimer_expire_entry/enable", "1")
    time.sleep(seconds)
    write("events/timer/hrtimer_expire_entry/enable", "0")
    counts = {}
    for cpu in online():
        with open(f"{TRACING}/per_cpu/cpu{cpu}/stats") as file:
            lost = [line for line in file if line.startswith(("overrun", "dropped")) and not line.endswith(": 0\n")]
        check(not lost, f"cpu {cpu}: events were lost: {lost}")
        with open(f"{TRACING}/per_cpu/cpu{cpu}/trace") as file:
            counts[cpu] = sum(any(f"function={name}" in line for name in TICK) for line in file)
    return counts


def tickless():
    """With nohz_full, an HPC task that is alone on its CPU has no tick; with a second one both CPUs' clocks tick again."""
    with open("/sys/devices/system/cpu/nohz_full") as file:
        quiet = list(numbers(file.read()))
    check(quiet, "the node was not booted with nohz_full")
    if not os.path.exists(f"{TRACING}/trace"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    write("buffer_size_kb", "4096")
    start()
    first()
    home = next(cpu for cpu in online() if cpu not in quiet)
    os.sched_setaffinity(0, {home})
    tasks = [spin(to=cpu) for cpu in quiet]
    until("each has its CPU", lambda: sorted(runs_on(pid) for pid in tasks) == quiet)
    alone = {}
    # the tick ends when the kernel next looks, after what went before has settled
    until("the ticks have ended", lambda: alone.update(ticks(1)) or not any(alone[cpu] for cpu in quiet))
    counts = ticks(5)
    print(f"note: ticks in 5 s {counts}", flush=True)
    check(not any(counts[cpu] for cpu in quiet), f"ticks on HPC CPUs: {counts}")
    second = spin(to=quiet[0])
    until("a second one is there", lambda: processes()[quiet[0]] == 2)
    until("the clock ticks for two", lambda: ticks(1)[quiet[0]] > 0)
    end(second, *tasks)
    tacet("stop")


globals()[sys.argv[1]]()

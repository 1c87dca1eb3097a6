# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# sched.py: tests HPL's promises: placement as in a model, exact counts, CPUs that go offline,
# a loader that dies. Called by sched.sh with the name of a function; prints "fail: REASON"
# lines, or nothing. Tests of launchers and ticks are in launch.py.

import json, os, random, signal, subprocess, sys, time

from hpl import *


def exact(then, what, joined=0):
    """Checks that since `then` HPC tasks moved only when they joined, and no normal task ran beside one."""
    now = status()["total"]
    moved = now["migrations"]["hpc"] - then["migrations"]["hpc"]
    check(moved <= joined, f"{what}: HPC tasks moved {moved} times")
    check(now["placed_again"] == then["placed_again"], f"{what}: an HPC task was placed again")
    beside = now["normal_on_hpc"] - then["normal_on_hpc"]
    check(beside == 0, f"{what}: normal tasks ran {beside} times beside HPC tasks")


def placement():
    """Starts from 1 to twice as many tasks as CPUs, one after the other; afterwards none moves."""
    start()
    first()
    model, before, tasks = Model(), processes(), []
    then = status()["total"]
    for _ in range(2 * len(model.groups)):
        tasks.append(spin())
        _, before = placed(model, before, tasks[-1])
    exact(then, "placed", joined=len(tasks))
    then, where = status()["total"], [runs_on(pid) for pid in tasks]
    time.sleep(3)
    exact(then, "in three seconds")
    check(where == [runs_on(pid) for pid in tasks], f"tasks were on {where}, now on {[runs_on(pid) for pid in tasks]}")
    end(*tasks)
    until("no HPC task is left", lambda: sum(processes().values()) == 0)
    tacet("stop")


def placement_at_caches():
    """The same on packages with several last-level caches: among equal cores, those at another cache come first."""
    packages = {read(cpu, "topology/physical_package_id") for cpu in online()}
    caches = {last_cache(cpu) for cpu in online()}
    check(len(caches) > len(packages), f"{len(packages)} packages have only the caches {sorted(caches)}")
    placement()


def randomly():
    """Tasks begin, have children and end by a random schedule; each is placed as the model says."""
    seed = int(os.environ.get("SEED", "0")) or random.randrange(1 << 32)
    print(f"note: seed {seed}", flush=True)
    chance = random.Random(seed)
    start()
    first()
    family = Family()
    for _ in range(60 if os.environ.get("FULL") == "1" else 25):
        if family.cpu and chance.random() < 0.4:
            family.end(chance.choice(sorted(family.cpu)))
        elif family.launchers and chance.random() < 0.6:
            family.launch(chance.choice(sorted(family.launchers)))
        else:
            family.come(launcher=chance.random() < 0.3)
        rows = {row["cpu"]: (row["hpc_processes"], row["hpc_launchers"]) for row in status()["cpus"]}
        told = {cpu: family.model.beside(cpu) for cpu in rows}
        check(rows == told, f"seed {seed}: (processes, launchers) are {rows}, the model says {told}")
    for pid in sorted(family.cpu):
        family.end(pid)
    tacet("stop")


def inheritance():
    """Children and threads of a program run in the class are in it; others are not."""
    start()
    first()
    script = (
        "import os, threading, time\n"
        "threading.Thread(target=lambda: time.sleep(600), daemon=True).start()\n"
        "if os.fork() == 0: time.sleep(600)\n"
        "print(os.sched_getscheduler(0), flush=True); time.sleep(600)\n"
    )
    program = subprocess.Popen([TACET, "sched", "run", "--", "python3", "-c", script], stdout=subprocess.PIPE, text=True)
    check(program.stdout.readline() == f"{POLICY}\n", "the program is not in the class")
    until("three tasks of two processes", lambda: (sum(c["hpc_tasks"] for c in status()["cpus"]), sum(processes().values())) == (3, 2))
    with open(f"/proc/{program.pid}/task/{program.pid}/children") as file:
        child = int(file.read())
    check(os.sched_getscheduler(child) == POLICY, "the child is not in the class")
    os.kill(child, signal.SIGKILL)
    end(program.pid)
    until("no HPC task is left", lambda: sum(processes().values()) == 0)
    tacet("stop")
    check(os.system(f"{TACET} sched run -- true 2>/dev/null") != 0, "a program was run without the scheduler")


def group():
    """A process in a named group is HPC until it leaves the group."""
    folder = "/sys/fs/cgroup/hpl.test"
    os.makedirs(f"{folder}/inner", exist_ok=True)
    start("--group", "hpl.test")
    first()
    pid = os.fork()
    if pid == 0:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        while True:
            time.sleep(0.01)
    for where, wanted in ((f"{folder}/inner", 1), ("/sys/fs/cgroup", 0)):
        with open(f"{where}/cgroup.procs", "w") as file:
            file.write(str(pid))
        until(f"{wanted} HPC tasks", lambda: sum(processes().values()) == wanted)
    end(pid)
    tacet("stop")
    os.rmdir(f"{folder}/inner")
    os.rmdir(folder)


def daemon():
    """A named daemon is an HPC task; processes that it starts are not."""
    with open("hpl-daemon", "w") as file:
        file.write("#!/bin/bash\nwhile sleep 0.2; do :; done\n")
    os.chmod("hpl-daemon", 0o755)
    program = subprocess.Popen(["./hpl-daemon"])
    start("--daemon", "hpl-daemon")
    until("the daemon is an HPC task", lambda: sum(c["hpc_tasks"] for c in status()["cpus"]) == 1)
    time.sleep(2)
    then = status()["total"]["placed"]
    time.sleep(2)
    check(status()["total"]["placed"] == then == 1, "what the daemon starts was placed, too")
    end(program.pid)
    until("no HPC task is left", lambda: sum(processes().values()) == 0)
    tacet("stop")


def hotplug():
    """A CPU goes offline while every CPU computes, and comes back; its task moves, the others stay."""
    start()
    first()
    cpus = online()
    tasks = [spin() for _ in cpus]
    until("all are placed", lambda: sum(processes().values()) == len(cpus))
    # one of them goes twice
    for round in range(len(cpus)):
        time.sleep(0.5)
        gone = cpus[-1 - round % (len(cpus) - 1)]
        then = status()["total"]
        homes = {pid: runs_on(pid) for pid in tasks}
        begin = time.monotonic()
        set_online(gone, 0)
        took = time.monotonic() - begin
        print(f"note: cpu {gone} went in {took:.2f} s", flush=True)
        until("its task runs elsewhere", lambda: all(runs_on(pid) != gone for pid in tasks))
        for pid, home in homes.items():
            check(home == gone or runs_on(pid) == home, f"a task of cpu {home} moved when cpu {gone} went")
        again = status()["total"]["placed_again"] - then["placed_again"]
        check(0 <= again <= 2 * sum(home == gone for home in homes.values()), f"{again} tasks were placed again")
        set_online(gone, 1)
        check(status()["state"] == "loaded", f"HPL ended: {status()['end']}")
        end(*(pid for pid, home in homes.items() if home == gone))
        tasks = [pid for pid, home in homes.items() if home != gone]
        while len(tasks) < len(cpus):
            tasks.append(spin())
        until("the CPU is used again", lambda: sum(processes().values()) == len(cpus) and all(processes().values()))
    end(*tasks)
    tacet("stop")


def confined():
    """The trickle's CPU goes offline. Normal tasks and HPC tasks wait on it, some of which may run nowhere else."""
    cpus = online()
    gone = cpus[-1]
    # a trickle with rare turns: the kernel's own work to take a CPU offline must not wait for it
    start("--trickle-cpu", str(gone), "--trickle-period", "3s")
    first()
    tasks = [spin() for _ in cpus]
    until("all are placed", lambda: sum(processes().values()) == len(cpus))
    tasks.append(spin(to=gone))
    normal = [spin(join=False) for _ in range(3)] + [spin(join=False, to=gone), spin(join=False)]
    os.sched_setaffinity(normal[-1], {cpus[0], gone})
    until("one more is placed", lambda: sum(processes().values()) == len(cpus) + 1)
    time.sleep(2)
    then = status()["total"]["trickles"]
    begin = time.monotonic()
    set_online(gone, 0)
    took = time.monotonic() - begin
    print(f"note: the trickle's cpu went in {took:.2f} s", flush=True)
    trickles = status()["total"]["trickles"] - then
    # one period has at most two windows on each CPU
    check(trickles <= 2 * len(cpus), f"the trickle's cpu went after {trickles} trickles")
    before = {pid: progress(pid) for pid in [*tasks, *normal]}
    for pid in before:
        until(f"process {pid} continues", lambda: progress(pid) > before[pid])
    check(status()["state"] == "loaded", f"HPL ended: {status()['end']}")
    set_online(gone, 1)
    end(*tasks, *normal)
    tacet("stop")


def spare():
    """The only CPU without a computing HPC task goes offline: tasks that waited for it get turns elsewhere."""
    start()
    first()
    cpus = online()
    gone = cpus[-1]
    tasks = [spin(to=cpu) for cpu in cpus[:-1]]
    until("all are placed", lambda: sum(processes().values()) == len(tasks))
    normal = [spin(join=False) for _ in range(4)]
    homes = {pid: runs_on(pid) for pid in tasks}
    begin = time.monotonic()
    set_online(gone, 0)
    took = time.monotonic() - begin
    print(f"note: the free cpu went in {took:.2f} s", flush=True)
    before = {pid: progress(pid) for pid in normal}
    for pid in normal:
        until(f"process {pid} continues", lambda: progress(pid) > before[pid])
    for pid, home in homes.items():
        check(runs_on(pid) == home, f"a task of cpu {home} moved when cpu {gone} went")
    check(status()["state"] == "loaded", f"HPL ended: {status()['end']}")
    set_online(gone, 1)
    end(*tasks, *normal)
    tacet("stop")


def spares():
    """One of two free CPUs goes offline: tasks that waited for it wait for the other, not for a trickle."""
    start()
    first()
    cpus = online()
    gone = cpus[-1]
    # so many that those sent to the free CPUs by HPC tasks are still waiting for their turn
    normal = [spin(join=False) for _ in range(16 * len(cpus))]
    time.sleep(1)
    tasks = [spin(to=cpu) for cpu in cpus[:-2]]
    set_online(gone, 0)
    before = {pid: progress(pid) for pid in normal}
    for pid in normal:
        until(f"process {pid} continues", lambda: progress(pid) > before[pid])
    then = status()["total"]["trickles"]
    time.sleep(5)
    now = status()
    check(now["state"] == "loaded", f"HPL ended: {now['end']}")
    trickles = now["total"]["trickles"] - then
    check(not trickles, f"beside a free cpu some waited for {trickles} trickles")
    set_online(gone, 1)
    end(*tasks, *normal)
    tacet("stop")


def killed():
    """The loader is killed under load: Linux's own scheduler takes over, and `status` reports it."""
    start()
    first()
    tasks = [spin() for _ in online()]
    until("all are placed", lambda: sum(processes().values()) == len(tasks))
    os.kill(status()["process"], signal.SIGKILL)
    until("the kernel took it away", lambda: status()["scheduler"] is None)
    # the kernel takes the scheduler away while the loader's process ends, not after
    until("the loader is gone", lambda: status()["state"] == "died")
    check("Linux's own scheduler" in tacet("status"), "status does not say who schedules")
    for pid in tasks:
        check(os.sched_getscheduler(pid) == POLICY and os.path.exists(f"/proc/{pid}"), "a task was lost")
    start()
    until("they are HPC tasks again", lambda: sum(processes().values()) == len(tasks))
    with open("/proc/sysrq-trigger", "w") as file:
        file.write("S")
    until("the kernel ended it", lambda: status()["state"] == "ended")
    said = status()["end"]
    check(said["reason"] and not said["asked"], f"the kernel ended it, and it is said that {said}")
    start()
    until("they are HPC tasks once more", lambda: sum(processes().values()) == len(tasks))
    tacet("stop")
    said = status()["end"]
    check(said["reason"] and said["asked"], f"it was stopped, and it is said that {said}")
    before = {pid: progress(pid) for pid in tasks}
    for pid in tasks:
        until(f"process {pid} continues without it", lambda: progress(pid) > before[pid])
    end(*tasks)


def trickle():
    """Every CPU computes for longer than the kernel's watchdog waits (30 s): all waiting tasks get turns."""
    had_ns, most_ns = let_through(40, period_s=3)
    # the host also affects how late a window closes, if it emulates several CPUs at once
    print(f"note: trickles of {had_ns / 1e6:.0f} ms, at most {most_ns / 1e6:.0f} ms are due", flush=True)


def trickle_in_time():
    """For a node whose clock counts instructions: the trickle uses at most its share."""
    had_ns, most_ns = let_through(10)
    check(had_ns <= most_ns, f"trickles of {had_ns / 1e6:.0f} ms, at most {most_ns / 1e6:.0f} ms are due")


def let_through(seconds, period_s=1):
    """Normal tasks wait on busy CPUs; returns the time they got, and the most they should get."""
    cpus = online()
    door, share_ns = cpus[1], 5_000_000
    start("--trickle", f"{share_ns}ns", "--trickle-cpu", str(door), "--trickle-period", f"{period_s}s")
    first()
    # some tasks already wait for any CPU, one of them may not use the trickle's; others come later
    normal = [spin(join=False) for _ in range(3 * len(cpus))] + [spin(join=False, to=cpu) for cpu in cpus]
    os.sched_setaffinity(normal[0], {cpus[0], cpus[-1]})
    tasks = [spin() for _ in cpus]
    until("all are placed", lambda: sum(processes().values()) == len(cpus))
    then, begin = status()["total"], time.monotonic()
    normal += [spin(join=False) for _ in range(8)]
    bound = spin(join=False, to=cpus[-1])
    before = {pid: progress(pid) for pid in [*normal, bound]}
    time.sleep(seconds)
    now = status()
    check(now["state"] == "loaded", f"HPL ended: {now['end']}")
    for pid in before:
        check(progress(pid) > before[pid], f"process {pid} had no turn in {seconds} s")
    total = now["total"]
    check(total["trickles"] > then["trickles"] and total["trickle_ns"] > then["trickle_ns"], "no trickle was counted")
    check(total["normal_on_hpc"] == then["normal_on_hpc"], "a normal task ran without a trickle")
    periods = (time.monotonic() - begin) / period_s + 1
    had_ns, most_ns = total["trickle_ns"] - then["trickle_ns"], periods * share_ns * len(cpus)
    end(*normal, bound, *tasks)
    tacet("stop")
    return had_ns, most_ns


def storm():
    """Hundreds of normal and HPC processes begin and end; none is lost and none is left."""
    start()
    model = Model()
    then = status()["total"]
    script = "for i in $(seq 150); do (:) & [ $((i % 10)) = 0 ] && wait; done; wait"
    hpc = [subprocess.Popen([TACET, "sched", "run", "--", "bash", "-c", script]) for _ in range(2)]
    normal = [subprocess.Popen(["bash", "-c", script]) for _ in range(2)]
    for program in [*hpc, *normal]:
        check(program.wait() == 0, "a shell of the storm failed")
    until("no HPC task is left", lambda: sum(c["hpc_tasks"] for c in status()["cpus"]) == 0)
    now = status()["total"]
    check(now["placed"] - then["placed"] >= 300, f"{now['placed'] - then['placed']} tasks were placed")
    check(now["placed_again"] == then["placed_again"], "a task was placed again")
    for cpu in model.groups:
        check(processes()[cpu] == 0, f"cpu {cpu} keeps a load")
    tacet("stop")


def real_time():
    """A real-time task on an HPC task's CPU runs at once, and the HPC task continues afterwards."""
    start()
    first()
    task = spin()
    until("it is placed", lambda: sum(processes().values()) == 1)
    cpu = next(cpu for cpu, count in processes().items() if count)
    until("it runs there", lambda: runs_on(task) == cpu)
    above = status()["cpus"]
    urgent = os.fork()
    if urgent == 0:
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        for _ in range(100):
            time.sleep(0.005)
        os._exit(0)
    check(os.waitpid(urgent, 0)[1] == 0, "the real-time task failed")
    row = lambda rows: next(r for r in rows if r["cpu"] == cpu)["switches"]["above"]
    served = row(status()["cpus"]) - row(above)
    check(served >= 100, f"the real-time task was switched to {served} times in 100")
    before = progress(task)
    until("the HPC task continues", lambda: progress(task) > before)
    check(runs_on(task) == cpu, "the HPC task moved")
    end(task)
    tacet("stop")


def moves(pid):
    with open(f"/proc/{pid}/sched") as file:
        return next(int(line.split(":")[1]) for line in file if line.startswith("se.nr_migrations"))


def asleep():
    """Normal tasks run where HPC tasks sleep, and stay where they are while others compute; `top` shows it."""
    cpus = online()
    start()
    first()

    def sleeps():
        os.sched_setaffinity(0, {cpus[-1]})
        os.sched_setscheduler(0, POLICY, os.sched_param(0))
        time.sleep(600)

    sleeper = child(sleeps)
    until("it is placed", lambda: processes()[cpus[-1]] == 1)
    beside = spin(join=False, to=cpus[-1])
    until("a normal task runs beside one that sleeps", lambda: progress(beside) > 500)
    check(not any(row["trickles"] for row in status()["cpus"]), "it ran by a trickle")
    tasks = [spin() for _ in cpus[2:]]
    normal = [spin(join=False) for _ in cpus]
    until("the others are placed", lambda: sum(processes().values()) == len(tasks) + 1)
    before = {pid: progress(pid) for pid in normal}
    for pid in normal:
        until(f"process {pid} runs", lambda: progress(pid) > before[pid])
    time.sleep(1)
    were = {pid: moves(pid) for pid in normal}
    time.sleep(3)
    moved = {pid: moves(pid) - were[pid] for pid in normal if moves(pid) != were[pid]}
    check(not moved, f"normal tasks were balanced while HPC tasks run: {moved}")
    shown = json.loads(tacet("top", "-n", "1", "--json"))
    check(shown["switches"] and "hpc" in shown["switches"], f"top shows {shown}")
    end(sleeper, beside, *tasks, *normal)
    tacet("stop")


def behind():
    """The HPC tasks of the trickle's CPU sleep, the others compute: normal tasks that wait behind these make progress."""
    cpus = online()
    door, *others = cpus
    start("--trickle-cpu", str(door))
    first()

    def sleeps():
        os.sched_setaffinity(0, {door})
        os.sched_setscheduler(0, POLICY, os.sched_param(0))
        time.sleep(600)

    normal = [spin(join=False, to=cpu) for cpu in others]
    sleeper = child(sleeps)
    until("it is placed", lambda: processes()[door] == 1)
    tasks = [spin(to=cpu) for cpu in others]
    until("the others are placed", lambda: sum(processes().values()) == len(cpus))
    for pid in normal:
        os.sched_setaffinity(pid, cpus)
    time.sleep(1)
    before = {pid: progress(pid) for pid in normal}
    time.sleep(20)
    check(status()["state"] == "loaded", f"HPL ended: {status()['end']}")
    for pid in normal:
        check(progress(pid) > before[pid], f"process {pid} waits behind an HPC task, beside a CPU whose HPC task sleeps")
    end(sleeper, *tasks, *normal)
    tacet("stop")


globals()[sys.argv[1]]()

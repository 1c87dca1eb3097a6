# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# hpl.py: the common part of sched.py, kept.py and launch.py: the command, the model of placement, tasks that
# compute. Prints only failures.

import json, os, signal, socket, subprocess, sys, time

TACET = os.environ["T"]
POLICY = 7  # SCHED_EXT
CPUS = "/sys/devices/system/cpu"


children = set()


def fail(reason):
    """Prints the failure and kills all tasks, since they would compute for ever."""
    print(f"fail: {reason}", flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    sys.exit(1)


def check(truth, reason):
    if not truth:
        fail(reason)


def tacet(*words):
    # the program behind `tacet sched`, because every start of a program costs an emulated node a second
    done = subprocess.run([f"{TACET}-sched", *words], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def start(*words):
    tacet("start", *words)


def status():
    return json.loads(tacet("status", "--json"))


def until(what, truth, patience=120):
    end = time.monotonic() + patience
    while not truth():
        if time.monotonic() > end:
            fail(f"never: {what}")
        time.sleep(0.05)


def first():
    """Gives this process and its commands priority over HPC tasks; otherwise they would wait for the trickle."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))


def numbers(text):
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


def online():
    with open(f"{CPUS}/online") as file:
        return list(numbers(file.read()))


def set_online(cpu, value):
    with open(f"{CPUS}/cpu{cpu}/online", "w") as file:
        file.write(str(value))


def read(cpu, name):
    with open(f"{CPUS}/cpu{cpu}/{name}") as file:
        return file.read().strip()


def last_cache(cpu):
    try:
        indices = os.listdir(f"{CPUS}/cpu{cpu}/cache")
    except FileNotFoundError:
        return f"of cpu {cpu}"
    caches = [(int(read(cpu, f"cache/{i}/level")), read(cpu, f"cache/{i}/shared_cpu_list")) for i in indices if i.startswith("index")]
    return max(caches)[1]


class Model:
    """
    The rule of placement: fewest on the CPU, then on the core, in the package, at the cache. Launchers (processes
    with HPC children) count only between CPUs that are otherwise equal.
    """

    def __init__(self):
        names = ("topology/thread_siblings_list", "topology/physical_package_id")
        self.groups = {cpu: (("cpu", cpu), *((n, read(cpu, n)) for n in names), ("cache", last_cache(cpu))) for cpu in online()}
        self.workers, self.launchers = {}, {}

    def key(self, cpu):
        return tuple(loads.get(group, 0) for loads in (self.workers, self.launchers) for group in self.groups[cpu])

    def beside(self, cpu):
        """Processes on this CPU, and how many of them are launchers."""
        workers, launchers = (loads.get(("cpu", cpu), 0) for loads in (self.workers, self.launchers))
        return workers + launchers, launchers

    def change(self, cpu, more, launchers=0):
        for group in self.groups[cpu]:
            self.workers[group] = self.workers.get(group, 0) + more
            self.launchers[group] = self.launchers.get(group, 0) + launchers

    def best(self):
        least = min(self.key(cpu) for cpu in self.groups)
        return [cpu for cpu in self.groups if self.key(cpu) == least]


def child(begin):
    """Starts a process that does this and then computes for ever."""
    pid = os.fork()
    if pid == 0:
        try:
            begin()
            while True:
                pass
        finally:
            os._exit(1)
    children.add(pid)
    return pid


def spin(join=True, to=None):
    """Starts a child that computes for ever, HPC or normal, perhaps bound to a CPU."""

    def begin():
        if to is not None:
            os.sched_setaffinity(0, {to})
        os.sched_setscheduler(0, POLICY if join else os.SCHED_OTHER, os.sched_param(0))

    return child(begin)


class Launcher:
    """An HPC process that waits, and on request creates a child that computes for ever."""

    def __init__(self):
        self.line, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                # nobody waits for its children
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                os.sched_setscheduler(0, POLICY, os.sched_param(0))
                while theirs.recv(1):
                    child = os.fork()
                    while child == 0:
                        pass
                    theirs.send(child.to_bytes(4, "little"))
            finally:
                os._exit(1)
        children.add(self.pid)

    def launch(self):
        self.line.send(b"+")
        pid = int.from_bytes(self.line.recv(4), "little")
        children.add(pid)
        return pid


def end(*pids):
    """Ends tasks that this process or a launcher created."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            until(f"process {pid} is gone", lambda: not os.path.exists(f"/proc/{pid}"))
        children.discard(pid)


def processes():
    return {row["cpu"]: row["hpc_processes"] for row in status()["cpus"]}


def runs_on(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[36])


def placed(model, before, pid, waits=False):
    """Waits until one more process is placed, as the model says. A process that waits may not have moved yet."""
    now = {}

    def one_more():
        now.update(processes())
        return sum(now.values()) == sum(before.values()) + 1

    until(f"process {pid} is placed", one_more)
    cpu = next(cpu for cpu in now if now[cpu] != before[cpu])
    best = model.best()
    check(cpu in best, f"task {sum(now.values())} went to cpu {cpu}, the model says {best}")
    model.change(cpu, 1)
    until(f"process {pid} runs on cpu {cpu}", lambda: waits or runs_on(pid) == cpu)
    return cpu, now


class Family:
    """Tasks that begin and end one after the other, some as children of others, with the model's placement of them."""

    def __init__(self):
        self.model, self.seen = Model(), processes()
        # the CPU of each living task; the children of each living launcher
        self.cpu, self.launchers, self.children = {}, {}, {}

    def come(self, launcher=False):
        task = Launcher() if launcher else None
        pid = task.pid if task else spin()
        self.cpu[pid], self.seen = placed(self.model, self.seen, pid, waits=launcher)
        if task:
            self.launchers[pid], self.children[pid] = task, set()

    def launch(self, parent):
        if not self.children[parent]:
            self.model.change(self.cpu[parent], -1, launchers=1)
        pid = self.launchers[parent].launch()
        self.cpu[pid], self.seen = placed(self.model, self.seen, pid)
        self.children[parent].add(pid)

    def end(self, pid):
        end(pid)
        cpu = self.cpu.pop(pid)
        self.launchers.pop(pid, None)
        if self.children.pop(pid, None):
            self.model.change(cpu, 0, launchers=-1)
        else:
            self.model.change(cpu, -1)
        for parent, siblings in self.children.items():
            if siblings == {pid}:
                self.model.change(self.cpu[parent], 1, launchers=-1)
            siblings.discard(pid)
        self.seen = processes()


def progress(pid):
    with open(f"/proc/{pid}/sched") as file:
        return next(float(line.split(":")[1]) for line in file if line.startswith("se.sum_exec_runtime"))

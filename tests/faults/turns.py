# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# turns.py: the order in which HPL runs tasks that share a CPU. Called by sched.sh with the name
# of a function; prints "fail: REASON" lines, or nothing.

import os, select, sys, time

from hpl import *

ROUNDS = 125
# far longer than any task computes here at a time
QUANTUM = "2s"
# the kernel holds the file's lock during the whole write
PIECE = 64 << 20


def join(cpu):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, POLICY, os.sched_param(0))


def ran(pid):
    """How long, in seconds."""
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def heard(pipe):
    """Has the rank reported that it is done?"""
    os.set_blocking(pipe, False)
    try:
        return os.read(pipe, 1) == b"."
    except BlockingIOError:
        return False


def ask(question, answer, done):
    """A rank that computes while it waits for the answers, and then until its launcher ends."""
    launcher = os.getppid()
    os.set_blocking(answer, False)
    os.write(question, b"?")
    answers = 0
    while os.getppid() == launcher:
        try:
            if os.read(answer, 1):
                answers += 1
                os.write(*((question, b"?") if answers < ROUNDS else (done, b".")))
        except BlockingIOError:
            pass
    os._exit(0)


def reply(question, answer):
    while os.read(question, 1):
        os.write(answer, b"!")


def asked():
    """A launcher answers a rank's question at once, even if another rank waits for its turn on this CPU."""
    start("--quantum", QUANTUM)
    first()
    cpu = online()[-1]
    (asks, question), (answers, answer), (result, done) = os.pipe(), os.pipe(), os.pipe()

    def launcher():
        join(cpu)
        if os.fork() == 0:
            ask(question, answers, done)
        reply(asks, answer)

    other = spin(to=cpu)
    until("another rank computes", lambda: ran(other) > 0.1)
    begin = time.monotonic()
    pid = child(launcher)
    # if the other rank had a turn before each answer, they would take more than twice as long as `until` waits
    until(f"{ROUNDS} answers", lambda: heard(result))
    print(f"note: {ROUNDS} answers in {time.monotonic() - begin:.2f} s", flush=True)
    end(pid, other)
    tacet("stop")


def restless():
    """A task that wakes often, and computes, leaves a rank at least half of their CPU."""
    start()
    first()
    cpu = online()[-1]

    def wakes():
        join(cpu)
        while True:
            end = time.thread_time() + 0.05
            while time.thread_time() < end:
                pass
            time.sleep(0.0001)

    tasks = [spin(to=cpu), child(wakes)]
    until("both run", lambda: all(ran(pid) > 0.1 for pid in tasks))
    before = [ran(pid) for pid in tasks]
    until("enough of both", lambda: sum(map(ran, tasks)) > sum(before) + 4)
    rank, other = (ran(pid) - had for pid, had in zip(tasks, before))
    print(f"note: the rank had {rank:.2f} s, the other one {other:.2f} s", flush=True)
    check(rank > 0.45 * (rank + other), f"the rank had {rank:.2f} s, the other one {other:.2f} s")
    end(*tasks)
    tacet("stop")


def owed():
    """A normal task holds a lock that an HPC task waits for: it gets that task's CPU until it releases the lock."""
    door, cpu = online()
    with open("/tmp/owed", "wb") as file:
        file.truncate(PIECE)

    def writes(written):
        os.sched_setaffinity(0, {door})
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        piece = bytes(PIECE)
        with open("/tmp/owed", "r+b", buffering=0) as file:
            while True:
                file.seek(0)
                file.write(piece)
                os.write(written, b".")

    def waits(report):
        join(cpu)
        while True:
            # long enough to stop the writer, in the middle of a write except by rare chance
            end = time.thread_time() + 0.5
            while time.thread_time() < end:
                pass
            with open("/tmp/owed", "r+b", buffering=0) as file:
                file.write(b"?")
            os.write(report, b".")
            # the writer begins its next write
            time.sleep(0.1)

    # a trickle too small to be the reason
    start("--trickle", "100us", "--trickle-period", "3s", "--trickle-cpu", str(door))
    first()
    written, writing = os.pipe()
    normal = [child(lambda: writes(writing)), *(spin(join=False, to=door) for _ in range(2))]
    # until then it prepares itself, and holds no lock
    os.read(written, 1)
    other = spin(to=door)
    until("the other CPU computes", lambda: ran(other) > 0.1)
    # they wait behind it, and may run beside it
    for pid in normal:
        os.sched_setaffinity(pid, {door, cpu})
    then = status()["total"]
    report, reports = os.pipe()
    rank = child(lambda: waits(reports))
    lent = number = 0
    while number < 5 or not lent:
        number += 1
        until(f"write {number} ends; lent {lent} times", lambda: select.select([report], [], [], 0)[0])
        os.read(report, 1)
        check(number < 50, f"nothing was lent in {number} writes")
        now = status()
        check(now["state"] == "loaded", f"HPL ended: {now['end']}")
        lent = now["total"]["lent"] - then["lent"]
    print(f"note: lent {lent} times in {number} writes, {now['total']['trickles'] - then['trickles']} trickles", flush=True)
    end(*normal, rank, other)
    tacet("stop")


globals()[sys.argv[1]]()

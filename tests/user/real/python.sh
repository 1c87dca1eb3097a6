#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need_python numpy
cat >program.py <<'PYTHON'
import concurrent.futures, hashlib, multiprocessing, os, queue, signal, subprocess, sys, threading, time
import numpy as np


def matrices():
    n = 160
    a = (np.arange(n * n, dtype=np.int64).reshape(n, n) * 7919) % 1009
    b = (np.arange(n * n, dtype=np.int64).reshape(n, n) * 104729) % 997
    exact = a @ b
    fast = a.astype(np.float64) @ b.astype(np.float64)
    print("matmul", hashlib.sha256(exact.tobytes()).hexdigest()[:16], bool((fast == exact).all()))
    spectrum = np.fft.fft(np.ones(256))
    print("fft", int(round(spectrum[0].real)), bool(abs(spectrum[1:]).max() < 1e-9))
    print("sort", int(np.sort((np.arange(100000) * 7919) % 100003)[5000]))


def threads():
    tasks, done, lock = queue.Queue(), [0], threading.Lock()

    def work():
        while (item := tasks.get()) is not None:
            with lock:
                done[0] += item

    pool = [threading.Thread(target=work) for _ in range(12)]
    for t in pool: t.start()
    for i in range(1000): tasks.put(i)
    for _ in pool: tasks.put(None)
    for t in pool: t.join()
    print("threads", done[0])


def square(x):
    return x * x


def processes():
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print("fork", sum(pool.map(square, range(200))))
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        print("spawn", sum(pool.map(square, range(50))))
    out = subprocess.run(["sh", "-c", "cat; exit 3"], input=b"through a pipe", capture_output=True)
    print("subprocess", out.returncode, out.stdout.decode())
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    time.sleep(0.2)
    spinning.terminate()
    print("terminated", spinning.wait())


def interrupts():
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        while True:
            pass
    except TimeoutError:
        print("interrupted")


if __name__ == "__main__":
    matrices()
    threads()
    processes()
    interrupts()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os._exit(9)
    print("waited", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
exec $python program.py

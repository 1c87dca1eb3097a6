#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""ltp-results.py FOLDER LIMIT: reads what ltp-turns.sh wrote, and prints each test whose results differ, counts, times and the
tests with the largest ratios. Called by ltp.sh. Here a ratio is hosted over native: above 1 the hosted run took longer. Exit
status: 1 if a test passes natively and not hosted, 2 if a test has not run twice."""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

# the bits of a test's exit status
BITS = {1: "TFAIL", 2: "TBROK", 4: "TWARN", 32: "TCONF"}
LINE = re.compile(r"\b(TPASS|TFAIL|TBROK|TCONF|TWARN) *:")
KINDS = ("native", "hosted")
SHOWN = 10


class Run(NamedTuple):
    """How one run of a test ended."""

    end: str
    lines: Counter
    seconds: float

    def result(self):
        """What is compared: how much a test said before its limit is chance."""
        return self.end, None if self.end == "limit" else self.lines

    def __str__(self):
        lines = ", ".join(f"{count} {word}" for word, count in sorted(self.lines.items()))
        return f"{self.end} ({lines or 'it said nothing'})"


def end(status, seconds, limit):
    if status in (124, 137) and seconds >= limit:
        return "limit"
    if status > 128:
        return f"signal {status - 128}"
    if status & ~sum(BITS):
        return f"status {status}"
    return "+".join(name for bit, name in BITS.items() if status & bit) or "pass"


def read(folder, limit):
    """By name of a test, its runs by kind, in the order in which they ran."""
    tests = {}
    for line in (folder / "ends").read_text().splitlines():
        name, kind, status, nanoseconds = line.split()
        seconds = int(nanoseconds) / 1e9
        text = (folder / f"{kind}.{name}").read_text(errors="replace")
        tests.setdefault(name, {})[kind] = Run(end(int(status), seconds, limit), Counter(LINE.findall(text)), seconds)
    return tests


def main():
    folder, limit = Path(sys.argv[1]), int(sys.argv[2])
    try:
        tests = read(folder, limit)
        chosen = len((folder / "tests").read_text().splitlines())
    except (OSError, ValueError) as error:
        print(f"ltp-results.py: {folder}: not what ltp-turns.sh writes: {error}", file=sys.stderr)
        return 2
    pairs = {name: tuple(runs[kind] for kind in KINDS) for name, runs in tests.items() if len(runs) == len(KINDS)}
    if not pairs:
        print(f"ltp-results.py: {folder}: no test ran twice", file=sys.stderr)
        return 2
    different = {name: runs for name, runs in pairs.items() if runs[0].result() != runs[1].result()}
    for name, (native, hosted) in different.items():
        print(f"{name}: native {native}, hosted {hosted}")
    counts = [Counter(runs[side].end for runs in pairs.values()) for side in range(2)]
    print(f"{'result':12} {'native':>7} {'hosted':>7}")
    for word in sorted(counts[0] | counts[1]):
        print(f"{word:12} {counts[0][word]:7} {counts[1][word]:7}")
    lost = [name for name, (native, hosted) in pairs.items() if native.end == "pass" != hosted.end]
    print(f"{len(pairs)} tests, {len(different)} differ, {len(lost)} pass natively and not hosted; outputs: {folder}")
    sums = [sum(runs[side].seconds for runs in pairs.values()) for side in range(2)]
    print(f"time: native {sums[0]:.1f} s, hosted {sums[1]:.1f} s, {sums[1] / sums[0]:.2f} times")
    print("slowest by ratio:")
    slowest = sorted(pairs.items(), key=lambda pair: -pair[1][1].seconds / pair[1][0].seconds)
    for name, (native, hosted) in slowest[:SHOWN]:
        times = f"{native.seconds:7.2f} s {hosted.seconds:7.2f} s"
        print(f"  {name:24} {times} {hosted.seconds / native.seconds:7.2f} times")
    if len(pairs) < chosen:
        print(f"ltp-results.py: the run ended early: {chosen - len(pairs)} tests did not run twice", file=sys.stderr)
        return 2
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""figures.py SUITE FOLDER: reads FOLDER/native.N and FOLDER/hosted.N, the outputs of one program, and prints its figures of
merit, whether each run verified itself, and the ratio of the medians. Called by common.sh. A ratio above 1 means that the
hosted runs were better. Exit status: 1 if a run did not verify, 2 if an output cannot be read."""

import re
import statistics
import sys
from pathlib import Path


class Unreadable(Exception):
    """An output without its figure."""


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Unreadable(f"no line like `{pattern}`")
    return float(found.group(1))


def lulesh(text):
    """Zones a second; verified if the energies are symmetric, as LULESH itself looks at them."""
    merit = number(r"^\s*FOM\s*=\s*([0-9.eE+-]+)", text)
    number(r"Final Origin Energy\s*=\s*([0-9.eE+-]+)", text)
    return {"FOM, z/s": (merit, True)}, number(r"MaxRelDiff\s*=\s*([0-9.eE+-]+)", text) < 1e-8


def npb(text):
    merit = number(r"^\s*Mop/s total\s*=\s*([0-9.eE+-]+)", text)
    return {"Mop/s": (merit, True)}, re.search(r"Verification\s*=\s*SUCCESSFUL", text) is not None


def imb(text):
    """The time of each benchmark for each size, in microseconds. IMB as it is usually built verifies nothing."""
    figures, benchmark, column = {}, None, None
    for line in text.splitlines():
        words = line.split()
        if line.startswith("# Benchmarking"):
            benchmark, column = words[2], None
        elif benchmark and any(word.endswith("[usec]") for word in words):
            name = next(word for word in ("t[usec]", "t_avg[usec]") if word in words)
            column, sized = words.index(name), "#bytes" in words
        elif column is not None and words and words[0].isdigit():
            size = f" {words[0]} B" if sized else ""
            figures[f"{benchmark}{size}, us"] = (float(words[column]), False)
    if not figures:
        raise Unreadable("no table of times")
    return figures, None


SUITES = {"lulesh": lulesh, "npb": npb, "imb": imb}


def read(suite, folder, kind):
    """The figures of all runs of a kind, by name, and whether all verified (None: the program does not)."""
    paths = sorted(folder.glob(f"{kind}.*"), key=lambda path: int(path.suffix[1:]))
    if not paths:
        raise Unreadable(f"{folder}: no outputs {kind}.N")
    series, verified = {}, True
    for path in paths:
        try:
            figures, good = SUITES[suite](path.read_text(errors="replace"))
        except Unreadable as error:
            raise Unreadable(f"{path}: {error}") from None
        verified = None if good is None else verified and good
        for name, (value, more_is_better) in figures.items():
            series.setdefault(name, (more_is_better, []))[1].append(value)
    return series, verified


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SUITES:
        print(f"figures.py: usage: figures.py {'|'.join(SUITES)} FOLDER", file=sys.stderr)
        return 2
    suite, folder = sys.argv[1], Path(sys.argv[2])
    try:
        (native, native_good), (hosted, hosted_good) = (read(suite, folder, kind) for kind in ("native", "hosted"))
    except Unreadable as error:
        print(f"figures.py: {error}", file=sys.stderr)
        return 2
    print(f"{folder.name}: medians (least to most)")
    print(f"{'figure':26} {'native':>30} {'hosted':>30}  hosted is better by")
    for name, (more_is_better, here) in native.items():
        there = hosted.get(name, (None, []))[1]
        if not there:
            print(f"figures.py: {folder}: the hosted runs have no figure `{name}`", file=sys.stderr)
            return 2
        middle, other = statistics.median(here), statistics.median(there)
        above, below = (other, middle) if more_is_better else (middle, other)
        ratio = f"{above / below:.2f}" if below else "-"
        texts = (f"{statistics.median(of):.6g} ({min(of):.4g} to {max(of):.4g})" for of in (here, there))
        print(f"{name:26} {next(texts):>30} {next(texts):>30}  {ratio}")
    for kind, good in (("native", native_good), ("hosted", hosted_good)):
        word = {None: "this program has none", True: "successful in all runs", False: "FAILED"}[good]
        print(f"verification, {kind}: {word}")
    return 1 if False in (native_good, hosted_good) else 0


if __name__ == "__main__":
    sys.exit(main())

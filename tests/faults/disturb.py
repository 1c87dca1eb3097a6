# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Changes, from outside, one object of each countermeasure that is in force: writes back the object's old value.

Called by tune.sh. `disturb.py STATUS` does this, and prints COUNTERMEASURE OBJECT for each object whose value changed.
`disturb.py STATUS VERDICT DISTURBED` prints those of them that the verdict of `tacet tune verify` does not name.
"""

import json
import os
import subprocess
import sys


def name(entry):
    return entry.get("path") or str(entry.get("thread") or entry["unit"])


def shown(entry):
    if entry["kind"] == "file":
        return open(entry["path"]).read()
    if entry["kind"] == "affinity":
        return sorted(os.sched_getaffinity(entry["thread"]))
    return subprocess.check_output(["systemctl", "show", "-p", entry["property"], entry["unit"]])


def disturb(entry):
    before = {"partition": "member", "text": "0"} if entry["original"] is None else {}
    if entry["kind"] == "affinity":
        os.sched_setaffinity(entry["thread"], range(os.sysconf("SC_NPROCESSORS_CONF")))
    elif entry["kind"] == "unit":
        every = open("/sys/devices/system/cpu/online").read().strip()
        words = ["systemctl", "set-property", "--runtime", entry["unit"], f"{entry['property']}={every}"]
        subprocess.check_call(words)
    elif before or entry["form"] in ("text", "list", "mask"):
        with open(entry["path"], "w") as file:
            file.write(before.get(entry["form"]) or entry["original"].strip() or "\n")


def disturb_each(entries):
    done = set()
    for entry in entries:
        if entry["measure"] in done or entry["kind"] == "directory" or entry["form"] in ("controllers", "schemata"):
            continue
        if entry["original"] is None and entry["form"] == "list":
            continue
        try:
            was = shown(entry)
            disturb(entry)
            changed = shown(entry) != was
        # the kernel refuses to change some objects after the CPUs are isolated
        except OSError:
            continue
        if changed:
            done.add(entry["measure"])
            print(entry["measure"], name(entry))


def unnamed(verdict, disturbed):
    named = {(event["measure"], name(event)) for event in verdict["drifted"]}
    return [line for line in disturbed if tuple(line.split(maxsplit=1)) not in named]


if len(sys.argv) == 2:
    disturb_each(json.load(open(sys.argv[1]))["entries"])
else:
    print("\n".join(unnamed(json.load(open(sys.argv[2])), open(sys.argv[3]).read().splitlines())))

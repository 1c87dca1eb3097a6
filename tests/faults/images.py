# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# images.py COUNT SEED PROGRAM PREFIX...: damages PROGRAM's headers in COUNT ways and executes each result with and
# without PREFIX, with the same arguments: both must end alike, whatever Linux does with the damage. Called by
# memory.sh; prints "fail: REASON" lines and how many results could be executed.

import os, random, struct, subprocess, sys

WORDS = ["hold"]
SEGMENTS, SEGMENT_BYTES, FIELDS = 64, 56, {"type": (0, "I"), "flags": (4, "I"), "offset": (8, "Q"), "vaddr": (16, "Q"),
	"filesz": (32, "Q"), "memsz": (40, "Q"), "align": (48, "Q")}
HEADER = {"type": (16, "H"), "entry": (24, "Q"), "phoff": (32, "Q"), "phnum": (56, "H")}


def other(random, value, width):
    """A value near the old one, or at the limit of the field."""
    bits = {"H": 16, "I": 32, "Q": 64}[width]
    near = [value + step for step in (-4096, -4095, -1, 1, 4095, 4096, 1 << 21)] + [value ^ 1 << random.randrange(bits)]
    edge = [0, 1, 4095, 4096, 1 << 30, (32 << 30) + 4096, (1 << 47) - 4096, (1 << 47) - 1, (1 << bits) - 4096, (1 << bits) - 1]
    return random.choice(near + edge) % (1 << bits)


def damage(random, image):
    """Changes one to three fields of the header or of a segment; returns the changes."""
    changes = []
    count = struct.unpack_from("<H", image, 56)[0]
    for _ in range(random.choice((1, 1, 2, 3))):
        if random.random() < 0.15:
            name = random.choice(list(HEADER))
            at, width = HEADER[name]
        else:
            segment = random.randrange(count)
            name = random.choice(list(FIELDS))
            at, width = FIELDS[name]
            at += SEGMENTS + segment * SEGMENT_BYTES
            name = f"segment {segment} {name}"
        before = struct.unpack_from("<" + width, image, at)[0]
        after = other(random, before, width)
        struct.pack_into("<" + width, image, at, after)
        changes.append(f"{name} {before:#x} to {after:#x}")
    return ", ".join(changes)


def ends(command):
    """The exit status and the output; None: it cannot be executed."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    except OSError:
        return None
    except subprocess.TimeoutExpired:
        return "no end"
    return f"{done.returncode} {done.stdout!r}"


def main(count, seed, program, *prefix):
    executed = 0
    with open(program, "rb") as file:
        whole = file.read()
    for number in range(int(count)):
        image = bytearray(whole)
        changes = damage(random.Random(f"{seed} {number}"), image)
        path = os.path.abspath("image")
        with open(path, "wb") as file:
            file.write(image)
        os.chmod(path, 0o755)
        linux, hosted = ends([path, *WORDS]), ends([*prefix, path, *WORDS])
        executed += linux is not None
        # a file that Linux cannot execute is tried as a script by the command, like by a shell
        if linux != hosted if linux else hosted.startswith("0"):
            print(f"fail: {os.path.basename(program)}, seed {seed}, {number}: {changes}: {linux} on Linux, hosted {hosted}")
    print(f"note: {executed} of {count} executed")


main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0 OR MIT
# Typed for you inside a node of four CPUs.
set -e
say() { printf '\n# %s\n$ %s\n' "$1" "$2"; bash -c "$2"; }

say 'an unmodified Debian kernel' 'uname -sr; nproc'
say 'CPU 3 leaves Linux for the co-kernel' 'tacet up --cpus 3; cat /sys/devices/system/cpu/online'
say 'an ordinary program computes there' 'tacet run -- python3 -c "import os; print(sum(range(10**5)), os.cpu_count())"'
say 'so does a shell with pipes' 'tacet run -- bash -c "ls / | wc -l"'
say 'what the co-kernel did' 'tacet status'
say 'and everything is given back' 'tacet down; cat /sys/devices/system/cpu/online'

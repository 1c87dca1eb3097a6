#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Go's runtime, in a program of Debian: goroutines on threads, a collector that runs often.
. "$(dirname "$0")/lib"
need fzf seq
seq 60000 >numbers
for collect in 100 5; do
	echo "$collect: $(GOGC=$collect fzf --filter=4711 <numbers | sort -n | sha256sum | cut -c -16)"
done
echo "exact: $(fzf --exact --filter='^599 9$' <numbers | tr '\n' ' ')"
fzf --filter='no such number' <numbers
echo "none: $?"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Memory allocators of programs, under one program that checks the memory that it gets.
. "$(dirname "$0")/lib"
need gcc
gcc -O2 -pthread -o heap "$here/heap.c" || exit 1
echo "glibc: $(./heap)"
libraries=/usr/lib/x86_64-linux-gnu
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.3; do
	[ -e $libraries/$library ] || { echo "no $library"; exit 77; }
	case $library in
	libmimalloc*) threads=1 ;; # Debian's 3.0.1 loses blocks with several, on Linux too (10 of 600 runs)
	*) threads=4 ;;
	esac
	echo "$library: $(LD_PRELOAD=$libraries/$library ./heap $threads)"
done
# Memory that is returned at once, and arenas that are created and freed.
echo "glibc, trimmed: $(MALLOC_TRIM_THRESHOLD_=0 MALLOC_MMAP_THRESHOLD_=4096 ./heap)"
echo "jemalloc, purged: $(MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0,narenas:2 LD_PRELOAD=$libraries/libjemalloc.so.2 ./heap)"

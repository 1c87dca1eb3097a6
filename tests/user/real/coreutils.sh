#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need sort sha256sum split shuf
export LC_ALL=C

seq 1 50000 >numbers
shuf --random-source=numbers numbers >shuffled
sha256sum <numbers
sort -n --parallel=4 -S 1M shuffled | cmp - numbers && echo sorted
sort -R --random-source=numbers numbers | sort -n | sha256sum
sort -n -u shuffled shuffled | sha512sum | cut -c 1-32
split -n l/5 shuffled part. && cat part.* | cmp - shuffled && echo split
paste -d+ numbers shuffled | head -n 100 | cut -d+ -f2 | wc -l
tr -d '13579\n' <numbers | b2sum | cut -c 1-32
base64 <numbers | base64 -d | cksum
tee copy1 copy2 <numbers | md5sum && cmp copy1 copy2 && echo tee
mkdir d && cp numbers d/ && mv d/numbers d/n2 && ln d/n2 d/n3 && stat -c '%h %s' d/n3
dd if=numbers bs=1000 skip=3 count=5 status=none | sha1sum
factor 18446744073709551557 600851475143
expr 6 '*' 7
timeout -s KILL 0.2 sh -c 'while :; do :; done'
echo "timeout: $?"
env -i NAME=value sh -c 'echo $NAME'
(ulimit -n 32; sort -n --batch-size=16 shuffled shuffled shuffled | uniq -c | awk '$1 == 3' | wc -l)

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
need busybox
b=$(command -v busybox)

$b seq 1 3000 | $b sort -r | $b head -n 3
$b seq 1 3000 | $b awk '{ s += $1 * $1 } END { print s }'
$b dd if=/dev/zero bs=4096 count=200 2>/dev/null | $b sha256sum
$b mkdir -p tree/a/b && $b seq 1 500 >tree/a/b/numbers
$b tar -cf tree.tar tree && $b gzip tree.tar && $b rm -r tree
$b gunzip -c tree.tar.gz | $b tar -xf - && $b md5sum tree/a/b/numbers
$b find tree -type f | $b xargs $b wc -l
$b echo "one two three" | $b sed 's/two/2/' | $b tr a-z A-Z
$b ash -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; echo $i; (exit 7); echo $?'
$b ash -c '$0 sleep 100 & kill %1 2>/dev/null || kill $!; wait $!; echo $?' $b
$b timeout 1 $b sh -c 'while :; do :; done'
echo "timeout: $?"
$b yes | $b head -n 1000 | $b wc -c

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme_iommu.sh: fast paths of NVMe disks on a node with an IOMMU: the partition's memory is mapped
# once for the disk and unmapped at the end. The node has an NVMe disk and an IOMMU.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nvme_lib.sh"

trace=/sys/kernel/tracing
partition_bytes=$((64 << 20))

domain() { # the type of the disk's IOMMU domain
	cat "$(readlink -f /sys/class/nvme/nvme0/device)/iommu_group/type"
}

watch_mappings() { # those that are as large as the partition's block
	local event
	mountpoint -q $trace || mount -t tracefs none $trace || fail "no tracefs"
	for event in map unmap; do
		echo "size >= $partition_bytes" >$trace/events/iommu/$event/filter || fail "no filter for $event"
		echo 1 >$trace/events/iommu/$event/enable || fail "the kernel does not tell of $event"
	done
}

watch_no_more() { # and give the trace's pages back
	echo 0 >$trace/events/iommu/enable
	echo 8 >$trace/buffer_size_kb
}

mapped_bytes() { # EVENT
	local bytes sum=0
	for bytes in $(sed -n "s/.* $1: .* size=\([0-9a-fx]*\).*/\1/p" $trace/trace); do
		sum=$((sum + bytes))
	done
	echo $sum
}

no_fault() {
	! dmesg | grep -iE "DMAR:.*fault|fault addr" || fail "the IOMMU reports a fault"
}

behind_iommu() { # strict: two partitions one after the other, Linux's I/O beside them
	local made gone
	[ "$(domain)" = DMA ] || fail "the disk's domain is $(domain)"
	fill
	watch_mappings
	linux_reads & local reader=$!
	for round in 1 2; do
		up
		said "fast path for O_DIRECT" $round || fail "round $round: no fast path: $(dmesg | grep tacet | tail -3)"
		disk_served
		down
		made=$(mapped_bytes map) gone=$(mapped_bytes unmap)
		[ "$made" = $((round * partition_bytes)) ] || fail "round $round: $made bytes were mapped: $(tail -20 $trace/trace)"
		[ "$gone" = "$made" ] || fail "round $round: $made bytes were mapped, $gone unmapped"
	done
	kill $reader
	watch_no_more
	no_fault
	before=$(sum)
	unharmed
}

passed_through() { # addresses of memory are the disk's
	[ "$(domain)" = identity ] || fail "the disk's domain is $(domain)"
	fill
	up
	disk_served
	down
	no_fault
	before=$(sum)
	unharmed
}

scenario "$@"

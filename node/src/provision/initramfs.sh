#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs in the tree: initramfs.sh RELEASE OUT [ROOT], with the init script and the agent in OUT, and the kernel in the tree,
# or below ROOT. Leaves OUT/vmlinuz and OUT/initramfs. The archive is not compressed: unpacking costs an emulated CPU more than reading.
set -eu
release=$1 out=$2 root=${3:-}
work=$(mktemp -d)
mkdir "$work/bin" "$work/dev" "$work/proc" "$work/sys" "$work/modules" "$work/root" "$work/lower" "$work/upper"
cp /usr/bin/busybox "$work/bin/busybox"
install -m 755 "$out/init.sh" "$work/init"
install -m 755 "$out/agent" "$work/agent"

number=10
for driver in virtio_pci virtio_blk virtio_console overlay virtiofs; do
	modprobe -d "$root/" -S "$release" --show-depends "$driver"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r file; do
	name=$(basename "$file")
	case $file in
	*.xz) xz -dc "$file" >"$work/modules/$number-${name%.xz}" ;;
	*.zst) zstd -dc "$file" >"$work/modules/$number-${name%.zst}" ;;
	*) cp "$file" "$work/modules/$number-$name" ;;
	esac
	number=$((number + 1))
done
(cd "$work" && find . | cpio -o -H newc --quiet) >"$out/initramfs"
rm -rf "$work"

for image in "$root/boot/vmlinuz-$release" "/usr/lib/modules/$release/vmlinuz" "/usr/lib/modules/$release/vmlinuz.unsigned"; do
	[ -e "$image" ] && exec cp "$image" "$out/vmlinuz"
done
echo "no kernel image of $release in the tree"
exit 1

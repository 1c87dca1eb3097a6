#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# other_kernel.sh RELEASE DIRECTORY PACKAGE.deb...: makes a cache of nodes in DIRECTORY. Its newest kernel is the one of
# these packages: Debian's linux-image (or linux-binary and linux-modules), or Ubuntu's linux-image-unsigned and
# linux-modules. The rest of it are links to the usual cache, so run `make build` first. HPL's scenarios, which need no
# module, then run on that kernel:
#
#   TACET_CACHE=DIRECTORY cargo test --package tacet-scenarios --test nodes -- 7 --full --only HPL
set -eu

[ $# -ge 3 ] || { echo "usage: $0 RELEASE DIRECTORY PACKAGE.deb..." >&2; exit 2; }
release=$1 directory=$2
shift 2
usual=${TACET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tacet}
newest=$(echo "$usual"/kernels/7-*)
[ -e "$newest/init.sh" ] || { echo "$usual: no kernels for nodes: make build first" >&2; exit 1; }
[ ! -e "$directory" ] || { echo "$directory: is there already: name one that is not" >&2; exit 1; }
for tool in cpio depmod dpkg-deb modprobe xz zstd; do
	command -v $tool >/dev/null || { echo "$tool: not installed: apt-get install cpio kmod dpkg xz-utils zstd" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for package; do
	dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work" --keep-directory-symlink --exclude=./usr/share
done
modules=$(find "$work" -type d -path "*/lib/modules/$release" | head -n 1)
image=$(find "$work" -name 'vmlinuz*' -type f | head -n 1)
[ -n "$modules" ] && [ -n "$image" ] || { echo "$*: no modules or no image of $release in them" >&2; exit 1; }
base=${modules%/lib/modules/*}
depmod -b "$base" "$release" 2>/dev/null

# as node/src/provision/initramfs.sh does; a driver without a file is built into the kernel
root=$work/initramfs
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/modules" "$root/root" "$root/lower" "$root/upper"
cp "$usual/tree/usr/bin/busybox" "$root/bin/busybox"
install -m 755 "$newest/init.sh" "$root/init"
install -m 755 "$newest/agent" "$root/agent"
number=10
for driver in virtio_pci virtio_blk virtio_console overlay virtiofs; do
	modprobe -d "$base" -S "$release" --show-depends "$driver" 2>/dev/null || true
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r file; do
	name=$(basename "$file")
	case $file in
	*.xz) xz -dc "$file" >"$root/modules/$number-${name%.xz}" ;;
	*.zst) zstd -qdc "$file" >"$root/modules/$number-${name%.zst}" ;;
	*) cp "$file" "$root/modules/$number-$name" ;;
	esac
	number=$((number + 1))
done

kernel=$directory/kernels/$(basename "$newest")
mkdir -p "$kernel" "$directory/run" "$directory/log"
for part in "$usual"/*; do
	case $(basename "$part") in kernels | run | log | lock) ;; *) ln -s "$part" "$directory/" ;; esac
done
(cd "$root" && find . | cpio -o -H newc --quiet) >"$kernel/initramfs"
cp "$image" "$kernel/vmlinuz"
cp "$newest/init.sh" "$newest/agent" "$newest/initramfs.sh" "$kernel/"
echo "$release" >"$kernel/release"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs in the tree of the kernel's build: build.sh BASE, with Debian's configuration BASE, the fragment beside this script,
# and /mnt/work and /mnt/out. Leaves in OUT: boot and lib/modules as Debian's packages have them, the directory `build` for
# modules, `release`, and `version`, the package's. What an interrupted build has compiled in WORK is not compiled again.
set -eu
base=$1 here=$(dirname "$0") work=/mnt/work out=/mnt/out
# this script has built what is in OUT only if it ended
rm -rf "$out"/*

if [ ! -e "$work/unpacked" ]; then
	rm -rf "$work"/*
	tar -xJf /usr/src/linux-source-6.12.tar.xz -C "$work" --strip-components 1
	touch "$work/unpacked"
fi
cd "$work"
sed 's/^\(CONFIG_[A-Z0-9_a-z]*\)=m$/# \1 is not set/' "$base" >.base
# the last line of an option wins
cat .base "$here/fragment" >.config.new
make_() { nice -n 5 make CC=gcc-14 HOSTCC=gcc-14 KBUILD_BUILD_USER=tacet KBUILD_BUILD_HOST=node "$@"; }
# as long as the configuration is the same, make finds nothing to do
if ! cmp -s .config.new .config.last; then
	cp .config.new .config
	make_ olddefconfig
	cp .config.new .config.last
fi
for option in $(sed -n 's/^\(CONFIG_[A-Z0-9_]*=[ym]\)$/\1/p' "$here/fragment"); do
	grep -qx "$option" .config || { echo "error: the kernel does not take $option"; exit 1; }
done
make_ -j"$(nproc)" bzImage modules

release=$(make_ -s kernelrelease)
mkdir -p "$out/boot" "$out/build"
make_ -s INSTALL_MOD_PATH="$out" INSTALL_MOD_STRIP=1 modules_install
rm -f "$out/lib/modules/$release/build"
cp arch/x86/boot/bzImage "$out/boot/vmlinuz-$release"
cp .config "$out/boot/config-$release"
make_ -s run-command KBUILD_RUN_COMMAND="\$(srctree)/scripts/package/install-extmod-build $out/build"
dpkg-query -W -f '${Version}' linux-source-6.12 >"$out/version"
printf %s "$release" >"$out/release"

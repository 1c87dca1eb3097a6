#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs in the new tree (mmdebstrap's customize hook), with its package lists still there. For every kernel line takes
# the newest release: its headers by apt, its image and modules unpacked without their maintainer scripts (no
# initramfs, no boot loader). Leaves `line release` pairs in /usr/share/tacet/kernels, the time in /usr/share/tacet/made.
set -eu
export DEBIAN_FRONTEND=noninteractive INITRD=No
mkdir -p /usr/share/tacet /tmp/kernels
cd /tmp/kernels
: >/usr/share/tacet/kernels

releases() { # pattern; the newest first
	apt-cache pkgnames linux-headers- | sed -n "s/^linux-headers-\($1.*-cloud-amd64\)\$/\1/p" | sort -rV
}

# Of a name that only other packages mention, apt-cache shows nothing, and calls that no error.
exists() { apt-cache show "$1" 2>/dev/null | grep -q "^Package: $1\$"; }

image_packages() { # release
	if exists "linux-modules-$1"; then
		exists "linux-binary-$1" && echo "linux-binary-$1" || echo "linux-binary-unsigned-$1"
		echo "linux-modules-$1"
	else
		echo "linux-image-$1"
	fi
}

# Debian's archive has the headers of a release some hours before its image, which is signed elsewhere.
newest() { # pattern
	for candidate in $(releases "$1"); do
		for package in $(image_packages "$candidate"); do
			exists "$package" || continue 2
		done
		echo "$candidate"
		return
	done
}

for line in '6.1 6\.1\.0-' '6.12 6\.12\..*+deb13' '7 7\.'; do
	release=$(newest "${line#* }")
	[ -n "$release" ] || { echo "no Debian cloud kernel for line ${line% *}"; exit 1; }
	apt-get install -y -q --no-install-recommends "linux-headers-$release"
	apt-get download -q $(image_packages "$release")
	for package in *.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C / --keep-directory-symlink --exclude=./usr/share
		rm "$package"
	done
	depmod "$release"
	echo "${line% *} $release" >>/usr/share/tacet/kernels
done
rm -rf /tmp/kernels /boot/initrd*
# tells this tree from the next one made of the same packages
date -u >/usr/share/tacet/made

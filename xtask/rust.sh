#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Makes sure that a Cargo new enough for this tree, a linker and the co-kernel's target are installed. The Makefile calls it
# before every target. It is quick if nothing is missing; it installs only with apt as root, or with an existing rustup.
set -eu
wanted=88 # edition 2024 and let chains
target=x86_64-unknown-none

minor() { # the minor version of cargo, 0 if there is none
	cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p' | grep . || echo 0
}

fail() {
	echo "rust: $1" >&2
	exit 1
}

apt() { # packages
	[ -e /etc/debian_version ] || fail "missing $*; install them with this system's package manager (Debian's names)"
	[ "$(id -u)" = 0 ] || fail "missing $*; run: sudo apt-get install $*"
	apt-get update -q && apt-get install -y -q --no-install-recommends "$@"
}

command -v cc >/dev/null || apt gcc libc6-dev
if [ "$(minor)" -lt "$wanted" ]; then
	if ! command -v rustup >/dev/null; then
		# Debian 12 has no rustup package
		[ ! -e /etc/debian_version ] || [ -n "$(apt-cache search --names-only '^rustup$' 2>/dev/null)" ] ||
			fail "Rust 1.$wanted or later is missing and this release has no rustup package; see https://rustup.rs"
		apt rustup ca-certificates
	fi
	rustup toolchain install stable --profile minimal --component clippy,rustfmt
	rustup default stable
fi
[ "$(minor)" -ge "$wanted" ] || fail "Cargo 1.$(minor) is too old, 1.$wanted is needed; run: rustup update stable"
[ -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ] && exit 0
command -v rustup >/dev/null || fail "the target $target is missing; install rustup (https://rustup.rs)"
rustup target add $target

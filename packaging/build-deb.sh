#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Makes a Debian package of what `make build` left: installs below build/deb, packs that.
# Needs cargo-deb (cargo install cargo-deb). The package's metadata is in tools/tacet/Cargo.toml.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/deb
DESTDIR=$PWD/build/deb PREFIX=/usr packaging/install.sh install
# What the package manager lists, nobody else should remove.
rm build/deb/usr/lib/tacet/manifest
exec cargo deb --package tacet-cli --no-build --output build/

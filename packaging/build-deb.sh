#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Makes a Debian package from the output of `make build`: installs it below build/deb and packs that.
# Needs cargo-deb (cargo install cargo-deb). The package's metadata is in tools/tacet/Cargo.toml.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/deb
DESTDIR=$PWD/build/deb PREFIX=/usr packaging/install.sh install
# Only the package manager removes the files of a package, so the package has no manifest.
rm build/deb/usr/lib/tacet/manifest
exec cargo deb --package tacet-cli --no-build --output build/

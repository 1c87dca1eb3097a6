#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
# Makes src/generated.rs from the headers; with --check, only says whether it is current.
# Needs bindgen (cargo install bindgen-cli, libclang).
set -eu
cd "$(dirname "$0")"
out=src/generated.rs
[ "${1-}" = --check ] && out=$(mktemp)
bindgen bindings.h --use-core --no-doc-comments --default-enum-style consts --no-prepend-enum-name \
	--with-derive-default --explicit-padding \
	--allowlist-type 'tacet_.*' --allowlist-var 'TACET_.*' --output "$out" -- -Iinclude
[ "${1-}" = --check ] || exit 0
cmp -s "$out" src/generated.rs || { echo "abi/src/generated.rs: not what the headers say: run abi/generate.sh" >&2; rm -f "$out"; exit 1; }
rm -f "$out"

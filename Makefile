# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# make demo | test | build | bench | miri | install | uninstall | setup | clean
#
# Every target is `cargo xtask` of the same name; this file only finds Cargo. ARGS=... is passed on.

ARGS ?=
export PATH := $(HOME)/.cargo/bin:$(PATH)

# setup is quick when nothing is missing
demo test build bench: rust
	cargo xtask setup
	cargo xtask $@ $(ARGS)

# setup: packages of the host, Rust's targets, the nodes' tree, kernels and emulator
setup clean quality miri: rust
	cargo xtask $@ $(ARGS)

install: build
	packaging/install.sh install

uninstall:
	packaging/install.sh uninstall

rust:
	@sh xtask/rust.sh

.PHONY: demo test build bench install uninstall setup clean quality miri rust

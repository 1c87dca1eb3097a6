# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# make demo | test | build | bench | install | uninstall | setup | clean
#
# Every target is `cargo xtask` of the same name; this file only finds Cargo. ARGS=... is passed on.

ARGS ?=
export PATH := $(HOME)/.cargo/bin:$(PATH)

demo test build bench clean quality: rust
	cargo xtask $@ $(ARGS)

# packages of the host, Rust's targets, the nodes' tree, kernels and emulator
setup: rust
	cargo xtask setup $(ARGS)

demo test build bench: setup

install: build
	packaging/install.sh install

uninstall:
	packaging/install.sh uninstall

rust:
	@sh xtask/rust.sh

.PHONY: demo test build bench install uninstall setup clean quality rust

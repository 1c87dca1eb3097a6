# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# make demo | demo-cluster | test | test-more | hardening | build | bench | docs | miri | quality | install | uninstall | setup | clean
#
# Every target but the installing ones is `cargo xtask` of the same name; this file only finds Cargo. ARGS=... are its
# arguments: make test ARGS=--quick. make test-more runs what make test leaves out for its time's sake, with
# TACET_TEST_HALF=1 or 2 a half of it; FULL=1 make test runs everything on every kernel. make hardening runs scenarios on a
# kernel that checks itself; ARGS="memory faults" are parts of it.

ARGS ?=
export PATH := $(HOME)/.cargo/bin:$(PATH)

# setup is quick if nothing is missing. Signals end programs that tests compare, and a parent may have left some ignored:
# a shell SIGINT for its background jobs, Python SIGXFSZ.
demo test test-more hardening build bench: rust
	cargo xtask setup
	env --default-signal cargo xtask $@ $(ARGS)

demo-cluster: rust
	cargo xtask setup
	env --default-signal cargo xtask demo --cluster $(ARGS)

# setup: packages of the host, Rust's targets, the nodes' tree, kernels and emulator
setup clean docs quality miri: rust
	cargo xtask $@ $(ARGS)

install: build
	packaging/install.sh install

uninstall:
	packaging/install.sh uninstall

rust:
	@sh xtask/rust.sh

.PHONY: demo demo-cluster test test-more hardening build bench docs install uninstall setup clean quality miri rust

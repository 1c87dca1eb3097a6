// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the scheduler for the kernel, with the BTF by which libbpf fits it to the running kernel. The result is the
//! same in every profile.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("{name} is not set: build with cargo"));
    // in the spelling of bpf_tracing.h
    let architecture = match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "aarch64" => "arm64".to_owned(),
        "x86_64" => "x86".to_owned(),
        other => other.to_owned(),
    };
    let object = Path::new(&variable("OUT_DIR")).join("hpl.bpf.o");
    let status = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-target", "bpf", "-mcpu=v3"])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .arg(format!("-I{}", variable("DEP_BPF_INCLUDE")))
        .args(["-c", "bpf/hpl.bpf.c", "-o"])
        .arg(&object)
        .status();
    match status {
        Ok(status) if status.success() => (),
        Ok(status) => panic!("clang: bpf/hpl.bpf.c: {status}"),
        Err(error) => panic!("clang: {error}; install it: sudo apt-get install clang"),
    }
}

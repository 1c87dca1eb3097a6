// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the C parts: the measuring loops, the trace's BPF programs, and the instruments of exact measuring, which
//! are embedded in the library as files. The optimisation is the same in every profile: a debug build measures what a
//! release build measures.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=loop");
    println!("cargo::rerun-if-changed=trace");
    println!("cargo::rerun-if-changed=exact");
    cc::Build::new()
        .file("loop/loop.c")
        .opt_level(2)
        .force_frame_pointer(false)
        .flag("-ffreestanding")
        .flag("-fno-stack-protector")
        .warnings_into_errors(true)
        .compile("tacet_noise_loop");
    trace();
    // the emulated nodes are x86-64, and so are the program and the plugin that run there
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|target| target == "x86_64") {
        let plugin = ["count.c", "names.c", "record.c"].map(|name| format!("exact/plugin/{name}"));
        link("count.so", &["-shared", "-fvisibility=hidden"], &plugin);
        let base = format!("-Wl,-Ttext-segment={}", address("PROGRAM_BASE"));
        let guide = format!("-Wl,--section-start=.guide={}", address("PROGRAM_GUIDE"));
        link("tacet-quanta", &["-static", "-no-pie", &base, &guide], &["exact/quanta.c".to_owned()]);
    }
}

/// Compiles `trace.bpf.o`, with the BTF by which libbpf fits it to the running kernel.
fn trace() {
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("{name} is not set: build with cargo"));
    // In the spelling of bpf_tracing.h.
    let architecture = match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "aarch64" => "arm64".to_owned(),
        "x86_64" => "x86".to_owned(),
        other => other.to_owned(),
    };
    let object = Path::new(&variable("OUT_DIR")).join("trace.bpf.o");
    let status = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-target", "bpf", "-mcpu=v3"])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .arg(format!("-I{}", variable("DEP_BPF_INCLUDE")))
        .args(["-c", "trace/trace.bpf.c", "-o"])
        .arg(&object)
        .status();
    match status {
        Ok(status) if status.success() => (),
        Ok(status) => panic!("clang: trace/trace.bpf.c: {status}"),
        Err(error) => panic!("clang: {error}; install it: sudo apt-get install clang"),
    }
}

/// An address from marker.h: the linker must place the program where the plugin expects it.
fn address(name: &str) -> String {
    let header = std::fs::read_to_string("exact/marker.h").unwrap_or_default();
    let definition = header.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
    let value = definition.and_then(|value| value.split_whitespace().next());
    value.unwrap_or_else(|| panic!("exact/marker.h: no {name}")).to_owned()
}

/// Compiles and links without the C library: the plugin uses that of the emulator, and the program needs none.
fn link(name: &str, flags: &[&str], sources: &[String]) {
    let out = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join(name);
    let mut command = cc::Build::new().opt_level(2).debug(false).pic(true).get_compiler().to_command();
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-stack-protector", "-nostdlib"]);
    let status = command.args(flags).arg("-o").arg(out).args(sources).status();
    assert!(status.is_ok_and(|status| status.success()), "{name}: the compiler failed");
}

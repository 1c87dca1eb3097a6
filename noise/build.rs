// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the measuring loops. The optimisation is the same in every profile: a debug build measures what a release
//! build measures.

fn main() {
    println!("cargo::rerun-if-changed=loop");
    cc::Build::new()
        .file("loop/loop.c")
        .opt_level(2)
        .flag("-ffreestanding")
        .flag("-fno-stack-protector")
        .warnings_into_errors(true)
        .compile("tacet_noise_loop");
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The daemon, `run` and its proxies as real processes, with nodes that are threads of the test: they speak the protocol
//! by UDP, and their calls are real.
//!
//! This program is also what the tests start: `run`, a daemon, and the proxies that `run` makes of it.

mod calls;
mod control;
mod faults;
mod fuzz;
mod jobs;
mod memory;
mod node;
mod processes;
mod program;
mod relay;
mod room;
mod signals;
mod sockets;
mod taken_over;
mod users;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["iod-proxy"] => tacet_iod::proxy::main(),
        ["run", control, nodes, processes] => processes::run(control, nodes, processes),
        ["run-silent", control, nodes, processes] => processes::run_silent(control, nodes, processes),
        ["daemon", control, address] => processes::daemon(control, address, false),
        ["daemon-for-all", control, address] => processes::daemon(control, address, true),
        ["ask", control, request] => processes::ask(control, request),
        _ => {
            let trials = [
                calls::tests(),
                control::tests(),
                faults::tests(),
                fuzz::tests(),
                jobs::tests(),
                program::tests(),
                room::tests(),
                signals::tests(),
                sockets::tests(),
                taken_over::tests(),
                users::tests(),
            ];
            libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
        }
    }
}

/// A test that fails by panicking, as Rust's do.
fn test(name: &str, body: fn()) -> Trial {
    let run = move || std::panic::catch_unwind(body).map_err(|_| Failed::without_message());
    Trial::test(name.to_string(), run)
}

/// The same, with processes of a second user, which only root can make: without root it counts as ignored.
fn of_two_users(name: &str, body: fn()) -> Trial {
    test(name, body).with_kind("needs root").with_ignored_flag(!nix::unistd::geteuid().is_root())
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a call with arguments at the edges has another result on a node than on Linux, and why.

pub struct Differs {
    /// Names of calls.
    pub call: &'static str,
    /// One of its arguments, as the program names edges. Empty: any.
    pub edge: &'static str,
    /// The node's result. Empty: any.
    pub gives: &'static str,
    pub why: &'static str,
}

const fn row(call: &'static str, edge: &'static str, gives: &'static str, why: &'static str) -> Differs {
    Differs { call, edge, gives, why }
}

pub const TABLE: &[Differs] = &[
    row("getpid gettid getppid getpgrp getpgid set_tid_address", "", "", "numbers of processes and threads"),
    row("brk", "", "", "an address"),
    row("time times", "", "", "a time"),
    row("getitimer setitimer", "1", "-1 ENOSYS", "timers of CPU time are refused"),
    row("getitimer setitimer", "high", "-1 ENOSYS", "timers of CPU time are refused"),
    row("futex", "fixed", "", "a wait's or wake's word is not looked at for writing"),
    row("futex", "3", "0", "requeueing to no futex finds nobody"),
    row("membarrier", "", "", "all threads that run pass a barrier, whatever the command"),
    row("mincore mlock mlock2 mlockall munlock msync", "", "0", "all memory is there and stays"),
    row("mremap", "", "", "the order in which faults of several arguments are found"),
    row(
        "getsockopt setsockopt",
        "",
        "-1 ENOPROTOOPT",
        "options are shipped by a list, before anybody looks at the socket",
    ),
];

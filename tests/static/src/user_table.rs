// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of `user.rs`: each program of `tests/user`, and which parts of it a node has in another way than Linux, by
//! design, and why. `docs/static-differences.md` has the list for readers.

/// A program and how it is run.
pub struct Program {
    pub name: &'static str,
    pub runs: Runs,
    /// Parts that are run one by one, in the program itself where Linux's are in a child.
    pub alone: &'static [&'static str],
    pub differs: &'static [Differs],
}

pub enum Runs {
    /// All of it, on a node with these flags of `tacet static run`.
    Whole(&'static [&'static str]),
    /// All that is neither run alone nor differs.
    Rest,
    Nothing,
}

/// Parts that are different by design.
pub struct Differs {
    /// Separated by commas; empty: the whole program.
    pub parts: &'static str,
    pub why: &'static str,
    pub fails: Fails,
}

/// How such a part ends on a node.
#[derive(PartialEq, Eq)]
pub enum Fails {
    /// A check fails, and its line has these words: mostly the error number.
    Check(&'static str),
    /// The program dies of this signal, and says these words.
    Signal(i32, &'static str),
    /// It would wait for ever, or how it ends depends on time or on the emulated processor.
    NotTried,
}

const CHILDREN: &str = "a node has no child processes: fork and exec are refused";
const GIVEN_BACK: &str = "memory that was given back stays mapped: the map is static";
const OTHERS_MEMORY: &str = "process_vm_readv and process_vm_writev are refused, also for the own memory";
const POLICY: &str = "memory has no policy: a node is one memory";
const SYSTEM_V: &str = "System V's shared memory, semaphores and messages are refused";
const COPIED: &str = "a file mapping is a copy that is made at the address, which another thread can watch";
const WRITABLE: &str = "a shared file mapping that may be written is refused: a mapping is a copy";
const NOT_STOPPED: &str = "a program cannot be stopped and continued";
const INHERITANCE: &str = "mutexes with priority inheritance are refused";
const LIMITS: &str = "limits of memory limit nothing: all memory is there from the start";
const RESERVED: &str = "mappings of many gigabytes that may be used: each address has memory, but for reservations";
const CODE_32: &str = "there is no 32-bit code, and there are no 32-bit calls";
const PROCESS_FILES: &str = "files of /proc are the proxy's, except for those that the node writes";
const TIMERS: &str = "timer_create is refused; setitimer and timerfd are the proxy's";

const fn differs(parts: &'static str, why: &'static str, fails: Fails) -> Differs {
    Differs { parts, why, fails }
}

const fn whole(name: &'static str, flags: &'static [&'static str]) -> Program {
    Program { name, runs: Runs::Whole(flags), alone: &[], differs: &[] }
}

const fn rest(name: &'static str, alone: &'static [&'static str], differs: &'static [Differs]) -> Program {
    Program { name, runs: Runs::Rest, alone, differs }
}

const fn nothing(name: &'static str, alone: &'static [&'static str], differs: &'static [Differs]) -> Program {
    Program { name, runs: Runs::Nothing, alone, differs }
}

use Fails::{Check, NotTried, Signal};

const NOT_THERE: Fails = Check("(errno 38)");

/// In the order of their names.
pub const PROGRAMS: &[Program] = &[
    nothing("abis", &[], &[differs("", CODE_32, Signal(11, "SIGSEGV at instruction"))]),
    nothing(
        "advice",
        &["hints", "content", "errors", "core files", "seals"],
        &[
            differs("children", CHILDREN, NOT_THERE),
            differs("guards", "MADV_GUARD_INSTALL is refused, as by Linux before 6.13", NotTried),
        ],
    ),
    rest(
        "anonymous",
        &[],
        &[
            differs("sizes", GIVEN_BACK, Check("(errno 0)")),
            differs("holes", GIVEN_BACK, Check("(errno 0)")),
            differs(
                "advice",
                "MADV_POPULATE_WRITE looks at no rights: all memory is there",
                Check("check failed: (long)(madvise("),
            ),
            differs("moves", GIVEN_BACK, Check("(errno 0)")),
            differs("kernel", OTHERS_MEMORY, Check("(errno 1)")),
            differs("stale", GIVEN_BACK, Check("(errno 0)")),
            differs("held", "vmsplice is refused: pipes are the proxy's", NOT_THERE),
            differs("forks", CHILDREN, NOT_THERE),
            differs("the_break", GIVEN_BACK, Check("(errno 0)")),
            differs("policy", POLICY, NOT_THERE),
            differs("borders", GIVEN_BACK, Check("(errno 0)")),
        ],
    ),
    nothing(
        "anonymous_moves",
        &[],
        &[differs("one_round", CHILDREN, NOT_THERE), differs("held_meanwhile", CHILDREN, NOT_THERE)],
    ),
    nothing(
        "anonymous_waits",
        &[],
        &[differs("", "futex_waitv is refused; and /proc has no threads of the program", Check("anonymous_waits.c:"))],
    ),
    nothing("asleep", &[], &[differs("", SYSTEM_V, NOT_THERE)]),
    nothing("attach", &[], &[differs("", CHILDREN, NOT_THERE)]),
    rest(
        "clocks",
        &[],
        &[
            differs("of_children", CHILDREN, NOT_THERE),
            differs(
                "cpu_timers",
                "timers of CPU time are refused: the proxy has other CPU time than the program",
                NOT_THERE,
            ),
        ],
    ),
    rest(
        "clone",
        &[],
        &[
            differs("memory_only", CHILDREN, NOT_THERE),
            differs("ids_written", CHILDREN, NOT_THERE),
            differs("with_clone3", "clone3 is refused: C libraries use clone then", NOT_THERE),
            differs("files_and_directory", CHILDREN, Check("(errno 10)")),
        ],
    ),
    nothing("clusters", &[], &[differs("", PROCESS_FILES, NotTried)]),
    rest("coherence", &[], &[differs("remapped", COPIED, NotTried), differs("code_replaced", COPIED, NotTried)]),
    nothing("coredump", &[], &[differs("", CHILDREN, NOT_THERE)]),
    nothing("counters", &[], &[differs("", "perf_event_open is refused: the node has no events", NOT_THERE)]),
    rest(
        "cpubits",
        &[],
        &[
            differs("cycle_counter", "the cycle counter cannot be taken away", Check("(errno 22)")),
            differs("system_tables", "instructions that UMIP forbids are not emulated", NotTried),
        ],
    ),
    rest("cpuview", &[], &[differs("check_here", CHILDREN, NOT_THERE)]),
    rest("data", &[], &[differs("shared_with_kernel", CHILDREN, NOT_THERE)]),
    rest(
        "direct",
        &[],
        &[differs("unmapped", GIVEN_BACK, Check("(errno 0)")), differs("process", CHILDREN, NOT_THERE)],
    ),
    rest(
        "eventfds",
        &[],
        &[
            differs("signalfds", "signalfd is refused: the node has the program's signals, not the proxy", NOT_THERE),
            differs("pidfds", CHILDREN, NOT_THERE),
            differs("memfds", WRITABLE, Check("(errno 19)")),
        ],
    ),
    whole("exceptions", &[]),
    nothing("exec", &[], &[differs("", CHILDREN, NOT_THERE)]),
    nothing(
        "exits",
        &[
            "main exits",
            "a thread exits for all",
            "a thread exits for a spinning main",
            "abort",
            "a fault in a thread",
            "exit in a handler",
            "all exit at once",
            "exit",
        ],
        &[
            differs("main ends first", PROCESS_FILES, NotTried),
            differs("main leaves its threads", PROCESS_FILES, NotTried),
        ],
    ),
    rest(
        "faults",
        &["no_handler", "blocked", "ignored"],
        &[
            differs("rights", GIVEN_BACK, Check("(errno 0)")),
            differs("beyond_the_end", WRITABLE, Check("(errno 19)")),
            differs("own_code", GIVEN_BACK, Check("(errno 0)")),
            differs("straddling", GIVEN_BACK, Check("(errno 0)")),
        ],
    ),
    rest("files", &[], &[differs("descriptors_and_locks", CHILDREN, NotTried)]),
    nothing("fork", &[], &[differs("", CHILDREN, NOT_THERE)]),
    nothing("frames", &[], &[differs("", CHILDREN, NOT_THERE)]),
    rest("fsgs", &["in_child"], &[]),
    rest(
        "futexes",
        &[],
        &[
            differs("inheriting", INHERITANCE, Check("PTHREAD_PRIO_INHERIT")),
            differs("robust", INHERITANCE, Check("robust_pi")),
            differs("across_processes", CHILDREN, NotTried),
        ],
    ),
    nothing("given", &[], &[differs("", "there are no filters of system calls", NOT_THERE)]),
    nothing(
        "hostile",
        &[
            "close everything",
            "protect everything",
            "thread bomb",
            "endless recursion",
            "jump to nowhere",
            "jump into the kernel",
            "no stack",
            "no stack for a handler",
            "return from no signal",
            "return from a made-up signal",
            "calls without sense",
            "killed by itself",
            "out of descriptors and memory",
        ],
        &[
            differs("unmap everything", "munmap takes back only what mmap gave: the program stays", NotTried),
            differs("fork bomb", CHILDREN, NOT_THERE),
            differs("orphan that stopped", NOT_STOPPED, NOT_THERE),
        ],
    ),
    rest(
        "identity",
        &[],
        &[
            differs("ids", CHILDREN, NOT_THERE),
            differs("credentials", CHILDREN, NOT_THERE),
            differs("odd_numbers", "personality is refused", NOT_THERE),
            differs("priorities", CHILDREN, NOT_THERE),
        ],
    ),
    rest(
        "kept",
        &[],
        &[
            differs("traced", CHILDREN, NOT_THERE),
            differs("changed", CHILDREN, NOT_THERE),
            differs("in_a_dump", CHILDREN, NotTried),
        ],
    ),
    whole("ldt", &[]),
    nothing(
        "limits",
        &["set_and_get", "descriptors", "file_size", "stack"],
        &[
            differs("address_space", LIMITS, NOT_THERE),
            differs("data", LIMITS, NOT_THERE),
            differs("processes", CHILDREN, NOT_THERE),
            differs("locked_memory", CHILDREN, NOT_THERE),
            differs("spin_in_thread", "CPU time has no limit", NOT_THERE),
        ],
    ),
    nothing("maps", &[], &[differs("", "there is no vDSO", Check("[vdso]"))]),
    rest("masks", &[], &[differs("shown", PROCESS_FILES, Check("mask_of_linux() == "))]),
    whole("membarrier", &[]),
    nothing(
        "memory",
        &[],
        &[
            differs("map_and_unmap", GIVEN_BACK, Check("(errno 0)")),
            differs(
                "protect",
                "mprotect over a hole changes nothing; Linux changes what is before the hole",
                Check("(errno 12)"),
            ),
            differs("move", GIVEN_BACK, Check("(errno 0)")),
            differs("advise", WRITABLE, Signal(11, "SIGSEGV")),
            differs("big_and_huge", GIVEN_BACK, Check("(errno 0)")),
            differs("the_break", GIVEN_BACK, Check("(errno 0)")),
            differs("bad_pointers", GIVEN_BACK, Check("(errno 0)")),
            differs("faults_are_counted", "there are no page faults to count", Check("(errno 0)")),
        ],
    ),
    nothing("middles", &[], &[differs("", CHILDREN, Check("pipe (errno 12)"))]),
    nothing("mode32", &[], &[differs("", CODE_32, Check("USER32_CS"))]),
    nothing(
        "moments",
        &[],
        &[
            differs("timed", CHILDREN, NotTried),
            differs("counted", GIVEN_BACK, Check("(errno 0)")),
            differs("limited", CHILDREN, NOT_THERE),
        ],
    ),
    rest(
        "pipes",
        &["die_of_pipe"],
        &[
            differs("atomic_records", CHILDREN, NOT_THERE),
            differs("splices", "vmsplice is refused: pipes are the proxy's", NOT_THERE),
            differs("fifo", CHILDREN, NotTried),
        ],
    ),
    whole("moved", &[]),
    nothing("piped", &[], &[differs("", "vmsplice is refused: pipes are the proxy's", NOT_THERE)]),
    whole("pkeys", &[]),
    nothing(
        "places",
        &[],
        &[differs("", "two of the places that sanitizers take are the program's own there", NotTried)],
    ),
    rest(
        "policy",
        &[],
        &[
            differs("before_it_is_touched", POLICY, NOT_THERE),
            differs("afterwards", POLICY, NOT_THERE),
            differs("in_turn", POLICY, NOT_THERE),
            differs("in_a_pipe", POLICY, NOT_THERE),
            differs("of_a_thread,of_a_child,errors", POLICY, NOT_THERE),
        ],
    ),
    whole("polling", &["--yield-on-io"]),
    nothing(
        "procfs",
        &[],
        &[
            differs("about_itself", PROCESS_FILES, Check("(errno 0)")),
            differs("own_memory", PROCESS_FILES, Check("(errno 5)")),
            differs("threads", PROCESS_FILES, Check("(errno 0)")),
            differs("of_a_child", CHILDREN, NotTried),
        ],
    ),
    rest(
        "protect",
        &[],
        &[
            differs("read_while_unmapped", GIVEN_BACK, NotTried),
            differs("read_while_truncated", WRITABLE, Check("(errno 19)")),
        ],
    ),
    nothing("ptrace", &[], &[differs("", CHILDREN, NOT_THERE)]),
    rest("races", &[], &[differs("copied", CHILDREN, NOT_THERE)]),
    whole("registers", &[]),
    nothing("release", &[], &[differs("", CHILDREN, NOT_THERE)]),
    nothing("reserve", &[], &[differs("", RESERVED, Check("(errno 12)"))]),
    nothing("residence", &[], &[differs("", GIVEN_BACK, NotTried)]),
    nothing("resident", &[], &[differs("", PROCESS_FILES, NotTried)]),
    rest(
        "rights",
        &[],
        &[
            differs("read_only", OTHERS_MEMORY, Check("(errno 1)")),
            differs("in_a_large_page", OTHERS_MEMORY, Check("(errno 1)")),
            differs("made_code", OTHERS_MEMORY, Check("(errno 1)")),
            differs("not_executed", GIVEN_BACK, Check("(errno 0)")),
            differs("elsewhere", OTHERS_MEMORY, Check("(errno 1)")),
        ],
    ),
    nothing("ringadvice", &[], &[differs("", "rings are refused", NOT_THERE)]),
    nothing("ringfutex", &[], &[differs("", "rings are refused", NOT_THERE)]),
    whole("ringpoll", &[]),
    whole("rseq", &[]),
    nothing("seccomp", &[], &[differs("", "filters are refused: the program's calls are not Linux's", NOT_THERE)]),
    whole("sigfp", &[]),
    whole("signals", &[]),
    rest(
        "sigspin",
        &[],
        &[
            differs("from_outside", CHILDREN, NotTried),
            differs("stop_and_continue", CHILDREN, NOT_THERE),
            differs("kills", CHILDREN, NOT_THERE),
            differs("kill_many", CHILDREN, NotTried),
        ],
    ),
    rest("sleeps", &[], &[differs("stopped", NOT_STOPPED, NotTried)]),
    nothing("snapshot", &[], &[differs("", CHILDREN, NotTried)]),
    rest(
        "sockets",
        &[],
        &[
            differs("pass_descriptor", CHILDREN, NotTried),
            differs("udp", "sendmmsg sends one message, and says so", Check("sendmmsg")),
        ],
    ),
    whole("stacks", &[]),
    nothing(
        "sysv",
        &[],
        &[
            differs("segments", SYSTEM_V, NOT_THERE),
            differs("semaphores", SYSTEM_V, NOT_THERE),
            differs("messages", SYSTEM_V, NOT_THERE),
            differs(
                "posix_queues",
                "mq_notify is refused: the node has the program's signals, not the proxy",
                NOT_THERE,
            ),
            differs("between_processes", CHILDREN, NotTried),
        ],
    ),
    nothing("terminal", &[], &[differs("keys,jobs,size_and_hangup,lines", CHILDREN, NotTried)]),
    whole("threads", &[]),
    rest(
        "timers",
        &[],
        &[
            differs("posix_timers", TIMERS, NOT_THERE),
            differs("to_a_thread", TIMERS, NOT_THERE),
            differs("of_cpu_time", TIMERS, NOT_THERE),
            differs("with_a_function", TIMERS, NOT_THERE),
        ],
    ),
    whole("uffdevice", &[]),
    whole("uring", &[]),
    whole("userfault", &[]),
    nothing("vfork", &[], &[differs("", CHILDREN, NotTried)]),
    rest("waits", &["leave_waiting", "killed_waiting"], &[differs("shared", CHILDREN, NOT_THERE)]),
    rest("xstate", &[], &[differs("across_fork", CHILDREN, Check("pid >= 0"))]),
];

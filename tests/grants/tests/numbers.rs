// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each call of the two other ABIs is known by the 64-bit call that does the same, as this host's headers name them. And
//! nobody does anything around a call that is taken for a simple one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tacet_grants_tests::{Abi, Call, Meaning, meanings};

/// From here on all ABIs have the same numbers.
const SAME_FROM: i64 = 424;
/// Calls that 64-bit kernels do not have.
const GONE: [&str; 13] =
    ["break", "stty", "gtty", "ftime", "prof", "lock", "mpx", "ulimit", "profil", "idle", "vm86old", "bdflush", "vm86"];
/// Calls whose 64-bit name is another one, beyond a suffix.
const RENAMED: [(&str, &str); 26] = [
    ("waitpid", "wait4"),
    ("oldstat", "stat"),
    ("umount", "umount2"),
    ("stime", "settimeofday"),
    ("oldfstat", "fstat"),
    ("nice", "setpriority"),
    ("signal", "rt_sigaction"),
    ("oldolduname", "uname"),
    ("sigaction", "rt_sigaction"),
    ("sgetmask", "rt_sigprocmask"),
    ("ssetmask", "rt_sigprocmask"),
    ("sigsuspend", "rt_sigsuspend"),
    ("sigpending", "rt_sigpending"),
    ("oldlstat", "lstat"),
    ("readdir", "getdents"),
    ("socketcall", "sendmsg"),
    ("olduname", "uname"),
    ("ipc", "semop"),
    ("sigreturn", "rt_sigreturn"),
    ("sigprocmask", "rt_sigprocmask"),
    ("_llseek", "lseek"),
    ("_newselect", "select"),
    ("ugetrlimit", "getrlimit"),
    ("mmap2", "mmap"),
    ("fadvise64_64", "fadvise64"),
    ("fstatat64", "newfstatat"),
];

/// The numbers of a header's calls; those of x32 without its bit.
fn names(header: &str) -> BTreeMap<String, i64> {
    let path = format!("/usr/include/x86_64-linux-gnu/asm/{header}");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines = text.lines().filter_map(|line| line.strip_prefix("#define __NR_"));
    lines
        .filter_map(|line| {
            let (name, number) = line.split_once(' ')?;
            let number = number.trim_start_matches("(__X32_SYSCALL_BIT + ").trim_end_matches(')');
            Some((name.to_owned(), number.parse().ok()?))
        })
        .collect()
}

fn ask(abi: Abi, numbers: &[i64]) -> Vec<Meaning> {
    let calls: Vec<_> = numbers.iter().map(|&number| Call { abi, number, first: 5, second: 6 }).collect();
    meanings(&calls).expect("the module answers")
}

fn native_name<'n>(name: &'n str, native: &BTreeMap<String, i64>) -> Option<&'n str> {
    let renamed = RENAMED.iter().find(|(old, _)| *old == name).map(|&(_, new)| new);
    let stripped = || ["_time64", "64", "32"].iter().find_map(|suffix| name.strip_suffix(suffix));
    [Some(name), renamed, stripped()].into_iter().flatten().find(|&name| native.contains_key(name))
}

#[test]
fn calls_of_32_bit_programs_are_known() {
    let (old, native) = (names("unistd_32.h"), names("unistd_64.h"));
    let (called, numbers): (Vec<_>, Vec<_>) = old.into_iter().filter(|(_, number)| *number < SAME_FROM).unzip();
    assert!(numbers.len() > 350, "the header has {} calls", numbers.len());
    for (name, meaning) in called.iter().zip(ask(Abi::Ia32, &numbers)) {
        let right = native_name(name, &native).map_or(-1, |name| native[name]);
        assert!(right >= 0 || GONE.contains(&name.as_str()), "{name}: nothing is known of it");
        assert_eq!(meaning.number, right, "{name}");
    }
}

#[test]
fn calls_of_x32_are_known() {
    let (x32, native) = (names("unistd_x32.h"), names("unistd_64.h"));
    let (called, numbers): (Vec<_>, Vec<_>) = x32.into_iter().unzip();
    assert!(numbers.contains(&514), "the header has none of x32's own");
    for (name, meaning) in called.iter().zip(ask(Abi::X32, &numbers)) {
        assert_eq!(Some(&meaning.number), native.get(name), "{name}");
    }
}

/// Whatever the program's number is: nobody knows what it does to descriptors.
#[test]
fn an_unknown_call_changes_all_descriptors() {
    let unknown =
        [(Abi::Ia32, 17), (Abi::Ia32, 222), (Abi::Ia32, 5000), (Abi::X32, 548), (Abi::Native, 473), (Abi::Native, -1)];
    for (abi, number) in unknown {
        assert_eq!(ask(abi, &[number])[0].descriptors, Some((0, 0x7fff_ffff)), "{abi:?} {number}");
    }
}

/// Those of a call that is known are what the same call of 64 bits changes.
#[test]
fn descriptors_change_as_by_64_bit_calls() {
    let (old, native) = (names("unistd_32.h"), names("unistd_64.h"));
    for name in
        ["close", "dup2", "dup3", "close_range", "unshare", "execve", "execveat", "io_uring_setup", "io_uring_enter"]
    {
        let (by_old, by_native) = (ask(Abi::Ia32, &[old[name]])[0], ask(Abi::Native, &[native[name]])[0]);
        assert!(by_old == by_native && by_old.descriptors.is_some(), "{name}: {by_old:?}, {by_native:?}");
    }
    assert!(ask(Abi::Ia32, &[old["ioctl"]])[0].file, "ioctl");
    let flags = Call { abi: Abi::Ia32, number: old["fcntl64"], first: 5, second: 4 };
    assert!(meanings(&[flags]).expect("the module answers")[0].file, "fcntl64");
}

/// Those who do something before or after calls.
const LOOK: [&str; 10] = [
    "linux/delegate/calls.c",
    "linux/delegate/futex.c",
    "linux/memory/answers.c",
    "linux/memory/calls.c",
    "linux/memory/locked.c",
    "linux/memory/send_back.c",
    "linux/view/calls.c",
    "linux/view/opened.c",
    "pico/linux/calls.c",
    "pico/linux/meaning.c",
];

#[test]
fn nobody_looks_at_a_simple_call() {
    let (names, numbers): (Vec<_>, Vec<_>) = names("unistd_64.h").into_iter().unzip();
    let meanings = ask(Abi::Native, &numbers);
    let simple: BTreeSet<_> =
        names.into_iter().zip(meanings).filter_map(|(name, meaning)| meaning.simple.then_some(name)).collect();
    assert!(["getppid", "read", "newfstatat", "clock_gettime"].into_iter().all(|name| simple.contains(name)));
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut looked_at = 0;
    for file in LOOK {
        let text = fs::read_to_string(top.join(file)).expect(file);
        for (at, _) in text.match_indices("__NR_") {
            let name: String = text[at + 5..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            assert!(!simple.contains(&name), "{file} looks at {name}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 80, "only {looked_at}");
}

#[test]
fn a_simple_call_changes_no_descriptor_and_is_one_that_is_known() {
    let numbers: Vec<i64> = (-1..1000).collect();
    let all = ask(Abi::Native, &numbers);
    let known: Vec<i64> = names("unistd_64.h").into_values().collect();
    for meaning in all.iter().filter(|meaning| meaning.simple) {
        assert!(meaning.descriptors.is_none() && !meaning.file && known.contains(&meaning.number), "{meaning:?}");
    }
}

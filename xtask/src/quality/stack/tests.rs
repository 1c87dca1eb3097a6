// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The count on small images, written by hand.

use super::code::{Address, Functions};
use super::heights::{self, Surroundings};
use super::written::{Written, matches};
use super::{TRAP, count};

const WRITTEN: &str = "# a comment\na*s reaches le*f\nrepeat 3 trap\n";

/// `root` (40 bytes) calls `leaf` (4,096) and, by a pointer at 0x1000, `asks` (8), which calls what it is told.
/// `trap` (8) calls itself.
fn image() -> Functions {
    functions(&[
        (
            "root",
            0x100,
            &[
                0x53, // push rbx
                0x48, 0x83, 0xec, 0x20, // sub rsp, 0x20
                0xe8, 0xf6, 0x00, 0x00, 0x00, // call leaf
                0xff, 0x15, 0xf0, 0x0e, 0x00, 0x00, // call [rip + 0xef0]
                0x48, 0x83, 0xc4, 0x20, // add rsp, 0x20
                0x5b, 0xc3, // pop rbx; ret
            ],
        ),
        ("leaf", 0x200, &[0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00, 0x48, 0x81, 0xc4, 0x00, 0x10, 0x00, 0x00, 0xc3]),
        ("asks", 0x300, &[0x50, 0xff, 0xd0, 0x58, 0xc3]), // push rax; call rax; pop rax; ret
        ("trap", 0x400, &[0x50, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0x58, 0xc3]), // push rax; call trap; pop rax; ret
    ])
}

fn functions(code: &[(&str, Address, &[u8])]) -> Functions {
    let heads: Vec<Address> = code.iter().map(|(_, at, _)| *at).collect();
    let around = Surroundings { heads: &heads, pointer: &|at| (at == 0x1000).then_some(0x300) };
    let examine = |&(name, at, bytes): &(&str, Address, &[u8])| {
        (at, heights::examine(name.to_owned(), at, bytes, &around).expect(name))
    };
    code.iter().map(examine).collect()
}

fn depth(functions: Functions, written: &str) -> Result<(usize, Vec<String>), String> {
    let found = count(functions, &Written::read(written)?, &["root"], "trap")?;
    Ok((found.count, found.offenders))
}

#[test]
fn a_stack_is_as_deep_as_its_longest_chain_of_frames() {
    let (found, path) = depth(image(), WRITTEN).unwrap();
    // root 40, then the pointer to asks 8 + 8, then the leaf 8 + 4096; and the trap three times 16 with its own 8
    let trap = TRAP + 3 * 16 + 8;
    assert_eq!(found, 40 + 16 + 8 + 4096 + trap, "{path:?}");
    assert!(path.iter().any(|line| line.contains("asks")), "{path:?}");
    let (dying, _) = depth(image(), &format!("{WRITTEN}last leaf\n")).unwrap();
    assert_eq!(dying, 40 + 16 + 8 + 4096, "an exception comes to what is above the last function alone");
}

#[test]
fn a_frame_that_is_too_large_shows() {
    let mut larger = image();
    let (before, _) = depth(image(), WRITTEN).unwrap();
    // leaf: sub rsp, 0x3000
    let leaf = functions(&[("leaf", 0x200, &[0x48, 0x81, 0xec, 0x00, 0x30, 0x00, 0x00, 0xc3])]);
    larger.extend(leaf);
    let (after, _) = depth(larger, WRITTEN).unwrap();
    assert_eq!(after - before, 0x2000);
    assert!(after > 12288);
}

/// The prologue comes late: the part with the call lies before it, and is reached by a jump back.
#[test]
fn every_way_through_a_function_is_followed() {
    let code: &[u8] = &[
        0xeb, 0x0a, // 0x100: jmp 0x10c
        0xe8, 0xf9, 0x00, 0x00, 0x00, // 0x102: call leaf
        0x48, 0x83, 0xc4, 0x40, // 0x107: add rsp, 0x40
        0xc3, // 0x10b: ret
        0x48, 0x83, 0xec, 0x40, // 0x10c: sub rsp, 0x40
        0xeb, 0xf0, // 0x110: jmp 0x102
    ];
    let found = functions(&[("late", 0x100, code), ("leaf", 0x200, &[0xc3])]);
    let late = found.get(&0x100).unwrap();
    assert_eq!((late.frame, late.calls.as_slice()), (0x40, &[(0x48, 0x200)][..]));
}

#[test]
fn handwritten_code_goes_on_with_the_next_name_and_a_loop_that_pushes_is_an_error() {
    let found = functions(&[("before", 0x100, &[0x50, 0x90]), ("after", 0x102, &[0xc3])]);
    assert_eq!(found.get(&0x100).unwrap().calls, [(8, 0x102)]);
    let around = Surroundings { heads: &[0x100], pointer: &|_| None };
    let endless = heights::examine("endless".to_owned(), 0x100, &[0x50, 0xeb, 0xfd], &around);
    assert!(endless.unwrap_err().contains("endless pushes without an end"));
}

#[test]
fn what_is_not_written_down_and_what_is_not_needed_is_an_error() {
    let failure = |written| depth(image(), written).unwrap_err();
    assert!(failure("repeat 3 trap\n").contains("whom these reach: asks"));
    assert!(failure("asks reaches leaf\n").contains("how often: trap"));
    assert!(failure("asks reaches leaf\nroot reaches leaf\nrepeat 3 trap\n").contains("`root`"));
    assert!(failure("asks reaches leaf\nrepeat 3 trap\nlast nobody\n").contains("`nobody`"));
    assert!(failure("asks reaches gone\nrepeat 3 trap\n").contains("not in the image"));
    assert!(failure("asks reach leaf\n").contains("no such line"));
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, name) in [("a*c*e", "abcde"), ("*", "x"), ("abc", "abc"), ("*<u8>::fmt", "x<u8>::fmt")] {
        assert!(matches(pattern, name), "{pattern} {name}");
    }
    assert!(!matches("a*c", "abcd") && !matches("abc", "abcd") && !matches("b*", "abc"));
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types that no compiler of today writes, and broken ones.

use std::fs;

use tacet_layouts_tests::made::{Made, kind};
use tacet_layouts_tests::{Reader, Said};
use tempfile::TempDir;

/// The program, and a place for its inputs.
struct Bench {
    reader: Reader,
    directory: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { reader: Reader::build().expect("the reader"), directory: tempfile::tempdir().expect("scratch") }
    }

    fn find(&self, base: &[u8], split: Option<&[u8]>, words: &str) -> Said {
        let (one, two) = (self.directory.path().join("base"), self.directory.path().join("split"));
        fs::write(&one, base).expect("a file");
        fs::write(&two, split.unwrap_or_default()).expect("a file");
        let mut said = self.reader.find(&one, split.map(|_| two.as_path()), words).expect("no report");
        assert_eq!(said.len(), 1, "{said:?}");
        said.remove(0)
    }

    fn refusal(&self, base: &[u8], words: &str) -> String {
        match self.find(base, None, words) {
            Said::Refused(line) => line,
            other => panic!("{words}: {other:?}"),
        }
    }
}

fn place(field: &str, offset: u64, bytes: u64) -> Said {
    Said::Place(field.to_owned(), offset, bytes)
}

/// 1 int, 2 u8 (typedef of 3), 4 an anonymous union, 5 outer, 6 const outer, 7 pointer to it, 8 holder.
fn nested() -> Made {
    Made::new()
        .int("int", 4)
        .add(kind::TYPEDEF, "u8", 3, 0, &[])
        .int("unsigned char", 1)
        .record(kind::UNION, "", 8, &[("a", 1, 0), ("b", 2, 32)])
        .record(kind::STRUCT, "outer", 24, &[("first", 1, 0), ("", 4, 64), ("last", 2, 128)])
        .add(kind::CONST, "", 5, 0, &[])
        .add(kind::POINTER, "", 6, 0, &[])
        .record(kind::STRUCT, "holder", 32, &[("outer", 7, 64), ("inside", 5, 64)])
}

#[test]
fn members_of_anonymous_unions_are_found_through_typedef_and_const() {
    let (bench, types) = (Bench::new(), nested().bytes());
    assert_eq!(bench.find(&types, None, "integer 4 - outer.a"), place("outer.a", 8, 4));
    assert_eq!(bench.find(&types, None, "integer 1 - outer.b"), place("outer.b", 12, 1));
    assert_eq!(bench.find(&types, None, "integer 0 - outer.last"), place("outer.last", 16, 1));
    assert_eq!(bench.find(&types, None, "pointer 0 outer holder.outer"), place("holder.outer", 8, 8));
    assert_eq!(bench.find(&types, None, "struct 0 outer holder.inside"), place("holder.inside", 8, 24));
    assert_eq!(bench.find(&types, None, "integer 0 - none.x outer.last"), place("outer.last", 16, 1));
}

#[test]
fn a_wrong_type_is_no_reason_to_look_at_the_second_place() {
    let (bench, types) = (Bench::new(), nested().bytes());
    let line = bench.refusal(&types, "integer 1 - outer.a outer.last");
    assert_eq!(line, "outer.a: integer of 1 byte expected, found int");
}

#[test]
fn the_drivers_own_types_stand_on_linux_types() {
    let (bench, base) = (Bench::new(), nested());
    // 9 pointer to void, 10 device
    let split = Made::on(&base).add(kind::POINTER, "", 0, 0, &[]).record(
        kind::STRUCT,
        "device",
        24,
        &[("data", 9, 0), ("count", 1, 64), ("outer", 7, 128)],
    );
    let (base, split) = (base.bytes(), split.bytes());
    let find = |words: &str| bench.find(&base, Some(&split), words);
    assert_eq!(find("pointer 0 - device.data"), place("device.data", 0, 8));
    assert_eq!(find("pointer 0 outer device.outer"), place("device.outer", 16, 8));
    assert_eq!(find("integer 4 - device.count"), place("device.count", 8, 4));
    assert_eq!(find("integer 4 - outer.first"), place("outer.first", 0, 4));
}

#[test]
fn enumerators_of_both_sizes_have_their_values() {
    let bench = Bench::new();
    let mut made = Made::new();
    let (one, two) = (made.string("LIVE"), made.string("HUGE"));
    let types = made
        .add(kind::ENUM, "state", 4, 2, &[one, 1, two, 0xffff_fffe])
        .add(kind::ENUM64 | kind::FLAG, "wide", 8, 1, &[two, 0, 0x8000_0000])
        .add(kind::ENUM | kind::FLAG, "negative", 4, 1, &[one, 0xffff_ffff])
        .bytes();
    let value = |field: &str| match bench.find(&types, None, &format!("enumerator 0 - {field}")) {
        Said::Value(_, value) => value,
        other => panic!("{other:?}"),
    };
    assert_eq!(value("state.LIVE"), 1);
    assert_eq!(value("state.HUGE"), 0xffff_fffe);
    assert_eq!(value("wide.HUGE"), i64::MIN);
    assert_eq!(value("negative.LIVE"), -1);
    assert_eq!(bench.refusal(&types, "enumerator 0 - state.GONE"), "state.GONE: no such value in this kernel");
}

#[test]
fn fields_that_cannot_be_read_as_expected_are_refused() {
    let bench = Bench::new();
    let types = Made::new()
        .int("int", 4)
        .add(kind::FORWARD | kind::FLAG, "there", 0, 0, &[])
        .add(kind::POINTER, "", 2, 0, &[])
        .add(kind::ARRAY, "", 0, 0, &[1, 1, 4])
        .record(kind::STRUCT | kind::FLAG, "bits", 8, &[("three", 1, 3 << 24), ("whole", 1, 32)])
        .record(kind::STRUCT, "odd", 8, &[("outside", 1, 48), ("unaligned", 1, 4), ("union", 3, 0), ("many", 4, 0)])
        .bytes();
    for (words, line) in [
        ("integer 4 - bits.three", "bits.three: integer of 4 bytes expected, found int as a bit field"),
        ("integer 4 - odd.outside", "odd.outside: it lies outside of its structure"),
        ("integer 4 - odd.unaligned", "odd.unaligned: it lies outside of its structure"),
        ("pointer 0 there odd.union", "odd.union: struct there * expected, found union there *"),
        ("integer 4 - odd.many", "odd.many: integer of 4 bytes expected, found array of int"),
        ("integers 4 - odd.many", "odd.many: it lies outside of its structure"),
    ] {
        assert_eq!(bench.refusal(&types, words), line);
    }
    assert_eq!(bench.find(&types, None, "integer 4 - bits.whole"), place("bits.whole", 4, 4));
}

#[test]
fn structures_of_one_name_must_agree() {
    let bench = Bench::new();
    let twice = |second: u32| {
        let made = Made::new().int("int", 4).record(kind::STRUCT, "s", 16, &[("m", 1, 32)]);
        made.record(kind::STRUCT, "s", 16, &[("m", 1, second)]).bytes()
    };
    assert_eq!(bench.find(&twice(32), None, "integer 4 - s.m"), place("s.m", 4, 4));
    assert_eq!(bench.refusal(&twice(64), "integer 4 - s.m"), "s.m: two types of that name disagree");
}

#[test]
fn types_without_an_end_end() {
    let bench = Bench::new();
    let types = Made::new()
        .int("int", 4)
        // 2 and 3 name each other, 4 points to itself, 5 is an array of itself, 6 contains itself
        .add(kind::TYPEDEF, "a", 3, 0, &[])
        .add(kind::TYPEDEF, "b", 2, 0, &[])
        .add(kind::POINTER, "", 4, 0, &[])
        .add(kind::ARRAY, "", 0, 0, &[5, 1, 2])
        .record(kind::STRUCT, "", 8, &[("", 6, 0), ("", 6, 0), ("", 6, 0), ("", 6, 0), ("", 6, 0), ("", 6, 0)])
        .record(kind::STRUCT, "s", 64, &[("a", 2, 0), ("p", 4, 0), ("r", 5, 0), ("", 6, 0), ("n", 99, 0)])
        .bytes();
    assert_eq!(
        bench.refusal(&types, "integer 4 - s.a"),
        "s.a: integer of 4 bytes expected, found a type without an end"
    );
    assert_eq!(bench.refusal(&types, "integer 4 - s.n"), "s.n: too many members");
    for member in ["p", "r"] {
        let line = bench.refusal(&types, &format!("integer 4 - s.{member}"));
        assert!(line.starts_with(&format!("s.{member}: integer of 4 bytes expected, found ")), "{line}");
    }
}

#[test]
fn names_reach_the_log_in_printable_characters_only() {
    let bench = Bench::new();
    let types = Made::new().int("a\nb\u{1b}[31m", 4).record(kind::STRUCT, "s", 8, &[("m", 1, 0)]).bytes();
    let line = bench.refusal(&types, "pointer 0 - s.m");
    assert_eq!(line, "s.m: void * expected, found a?b?[31m");
}

#[test]
fn a_kind_that_is_newer_than_the_reader_is_passed_over_if_its_size_is_told() {
    let bench = Bench::new();
    let made =
        || Made::new().add(25, "new", 0, 2, &[7, 7, 7]).int("int", 4).record(kind::STRUCT, "s", 8, &[("m", 2, 32)]);
    let mut sizes = vec![(0, 0); 26];
    sizes[25] = (4, 4);
    assert_eq!(bench.find(&made().bytes_with_sizes(&sizes), None, "integer 4 - s.m"), place("s.m", 4, 4));
    let line = bench.refusal(&made().bytes(), "integer 4 - s.m");
    assert!(line.ends_with("a type does not fit or is of an unknown kind"), "{line}");
}

#[test]
fn more_types_than_marks_are_found() {
    let bench = Bench::new();
    let mut made = Made::new().int("int", 4);
    for number in 0..10_000 {
        made = made.int(if number % 2 == 0 { "even" } else { "odd" }, if number % 2 == 0 { 2 } else { 8 });
    }
    // type 1 + n is the n-th of those
    let members: Vec<(String, u32, u32)> =
        [1, 2, 2047, 2048, 2049, 4097, 8191, 9999, 10_000].iter().map(|n| (format!("m{n}"), 1 + n, 0)).collect();
    let members: Vec<(&str, u32, u32)> =
        members.iter().map(|(name, number, at)| (name.as_str(), *number, *at)).collect();
    let types = made.record(kind::STRUCT, "s", 8, &members).bytes();
    for (member, number, _) in members {
        let bytes = if number % 2 == 0 { 2 } else { 8 };
        let field = format!("s.{member}");
        assert_eq!(bench.find(&types, None, &format!("integer 0 - {field}")), place(&field, 0, bytes));
    }
}

#[test]
fn broken_headers_are_refused() {
    let (bench, good) = (Bench::new(), nested().bytes());
    let with = |at: usize, word: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        bytes
    };
    for (bytes, cause) in [
        (vec![], "shorter than a header"),
        (good[..23].to_vec(), "shorter than a header"),
        (with(0, 0x1_9feb), "not BTF of version 1"),
        (with(0, 0x2_eb9f), "not BTF of version 1"),
        (with(4, u32::MAX), "the header does not fit"),
        (with(4, 8), "the header does not fit"),
        (with(8, u32::MAX), "truncated"),
        (with(12, u32::MAX), "truncated"),
        (with(16, u32::MAX - 3), "truncated"),
        (good[..good.len() - 1].to_vec(), "truncated"),
        (with(good.len() - 4, u32::MAX), "the last string has no end"),
        (with(28, 0x0400_ffff), "a type does not fit or is of an unknown kind"),
    ] {
        let line = bench.refusal(&bytes, "integer 4 - outer.a");
        assert_eq!(line, format!("the kernel's description of its types (BTF): {cause}"));
    }
}

#[test]
fn damaged_types_are_never_read_outside_of_their_buffer() {
    let bench = Bench::new();
    // the wanted structures' names, so that damaged types are searched to the end
    let base = Made::new()
        .int("int", 4)
        .add(kind::POINTER, "", 1, 0, &[])
        .record(kind::UNION, "", 8, &[("online_queues", 1, 0), ("", 3, 0)])
        .record(kind::STRUCT, "nvme_ctrl", 64, &[("admin_q", 2, 0), ("", 3, 64), ("state", 1, 128)]);
    let split = Made::on(&base).add(kind::ARRAY, "", 0, 0, &[4, 1, 3]).record(
        kind::STRUCT,
        "nvme_dev",
        256,
        &[("dev", 2, 0), ("ctrl", 4, 64), ("max_qid", 5, 512), ("", 3, 1024), ("dbbuf_dbs", 2, 1088)],
    );
    let (one, two) = (bench.directory.path().join("one"), bench.directory.path().join("two"));
    fs::write(&one, base.bytes()).expect("a file");
    fs::write(&two, split.bytes()).expect("a file");
    let opened = bench.reader.fuzz(&one, Some(&two), 30_000, 7).expect("no report");
    assert!(opened > 300, "{opened} of 30,000 opened: the damage is too great to test the search");
}

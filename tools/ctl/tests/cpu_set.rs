// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPU lists: exact checks, and a property test that any printed set reads back as the same set.

use proptest::prelude::*;
use tacet_ctl::CpuSet;

fn cpus(text: &str) -> Vec<u32> {
    text.parse::<CpuSet>().unwrap_or_else(|error| panic!("{error}")).iter().collect()
}

#[test]
fn reads_lists_as_linux_writes_them() {
    assert_eq!(cpus("0-3,8,10-12:2"), [0, 1, 2, 3, 8, 10, 12]);
    assert_eq!(cpus("5"), [5]);
    assert_eq!(cpus("1023"), [1023]);
    assert_eq!(cpus("3,1,1-2"), [1, 2, 3]);
    assert_eq!(cpus("0-7:3\n"), [0, 3, 6]);
    assert_eq!(cpus(""), [] as [u32; 0]);
}

#[test]
fn refuses_everything_else_in_one_line() {
    for text in [
        "1024",
        "0-1024",
        "3-1",
        "1,",
        ",1",
        "1,,2",
        "a",
        "1-",
        "-1",
        "1-2-3",
        "1:2",
        "0-4:0",
        "0-4:",
        "+1",
        "1 2",
        "0x1",
        "1.0",
        "4294967296",
        "99999999999999999999",
        "１",
    ] {
        let error = text.parse::<CpuSet>().expect_err(text).to_string();
        assert!(error.starts_with(&format!("CPU list `{text}`: ")), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn prints_the_shortest_form() {
    assert_eq!("1,2,3,5".parse::<CpuSet>().unwrap().to_string(), "1-3,5");
    assert_eq!("0,2".parse::<CpuSet>().unwrap().to_string(), "0,2");
    assert_eq!(CpuSet::default().to_string(), "");
}

#[test]
fn set_operations() {
    let (a, b): (CpuSet, CpuSet) = ("0-3".parse().unwrap(), "2-5".parse().unwrap());
    assert_eq!(a.without(&b).to_string(), "0-1");
    assert_eq!(a.intersection(&b).to_string(), "2-3");
    assert_eq!(a.union(&b).to_string(), "0-5");
    assert_eq!((a.count(), a.contains(4), a.contains(9999)), (4, false, false));
}

proptest! {
    #[test]
    fn printed_sets_read_back(numbers in prop::collection::vec(0u32..1024, 0..80)) {
        let set: CpuSet = numbers.iter().copied().collect();
        prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        prop_assert!(numbers.iter().all(|cpu| set.contains(*cpu)));
        prop_assert_eq!(CpuSet::from_words(set.words()), set);
    }

    #[test]
    fn ranges_with_strides_hold_what_counting_gives(first in 0u32..1024, length in 0u32..1024, step in 1u32..40) {
        let last = (first + length).min(1023);
        let set: CpuSet = format!("{first}-{last}:{step}").parse().unwrap();
        let counted: CpuSet = (first..=last).step_by(step as usize).collect();
        prop_assert_eq!(set, counted);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[-0-9:,a ]{0,24}") {
        if let Ok(set) = text.parse::<CpuSet>() {
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }
    }
}

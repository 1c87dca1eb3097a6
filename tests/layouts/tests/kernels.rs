// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The wanted fields in the kernels that setup provided: all found, and nowhere that contradicts itself. Without setup
//! there is nothing to read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use tacet_layouts_tests::{Reader, Said, Types, installed};

/// Unpacked once for all tests.
static KERNELS: LazyLock<Vec<Types>> =
    LazyLock::new(|| installed(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("types"));

/// Rounds of damage per kernel: each copies megabytes.
const ROUNDS: u32 = 30;

#[test]
fn every_wanted_field_is_found_in_every_kernel_of_the_nodes() {
    let reader = Reader::build().expect("the reader");
    for types in KERNELS.iter() {
        let release = &types.release;
        let mut ends: HashMap<String, Vec<(u64, u64)>> = HashMap::new();
        for said in reader.table(types).expect("a table") {
            match said {
                Said::Place(field, offset, bytes) => {
                    let structure = field.split('.').next().unwrap_or_default().to_owned();
                    ends.entry(structure).or_default().push((offset, offset + bytes));
                }
                Said::Value(field, value) => {
                    // the value since the state exists
                    assert_eq!((field.as_str(), value), ("nvme_ctrl_state.NVME_CTRL_LIVE", 1), "{release}");
                }
                Said::Refused(line) => panic!("{release}: {line}"),
            }
        }
        assert_eq!(ends.len(), 4, "{release}: nvme_dev, nvme_ctrl, nvme_ns, nvme_ns_head");
        for (structure, mut ends) in ends {
            ends.sort_unstable();
            let apart = ends.windows(2).all(|pair| pair[0].1 <= pair[1].0);
            assert!(apart, "{release}: fields of {structure} overlap: {ends:?}");
        }
    }
}

#[test]
fn damaged_types_of_a_kernel_are_never_read_outside_of_their_buffer() {
    let reader = Reader::build().expect("the reader");
    for (seed, types) in KERNELS.iter().enumerate() {
        let opened = reader.fuzz(&types.base, types.nvme.as_deref(), ROUNDS, seed as u32).expect("no report");
        assert!(opened > 0 && opened < ROUNDS, "{}: {opened} of {ROUNDS} opened", types.release);
    }
}

#[test]
fn a_field_of_another_type_is_refused_with_both_types() {
    let reader = Reader::build().expect("the reader");
    for types in KERNELS.iter() {
        let refusal = |words: &str| match &reader.find(&types.base, types.nvme.as_deref(), words).expect("an answer")[..]
        {
            [Said::Refused(line)] => line.clone(),
            other => panic!("{}: {words}: {other:?}", types.release),
        };
        for (words, line) in [
            ("pointer 0 - nvme_ctrl.admin_q", "nvme_ctrl.admin_q: void * expected, found struct request_queue *"),
            ("integer 8 - nvme_dev.max_qid", "nvme_dev.max_qid: integer of 8 bytes expected, found unsigned int"),
            ("integer 4 - nvme_dev.no_such", "nvme_dev.no_such: no such member in this kernel"),
            (
                "integer 4 - no_such.a nor_this.b",
                "no_such.a: no such type in this kernel; nor_this.b: no such type in this kernel",
            ),
        ] {
            assert_eq!(refusal(words), line, "{}", types.release);
        }
    }
}

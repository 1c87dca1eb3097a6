// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The decision for processors as Linux describes them in `/sys/devices/system/cpu/vulnerabilities`.

use super::{Bug, Isolation, Measures, decide};
use crate::{CpuSet, Machine};

const ALL_BUGS: [&str; 15] = [
    "gather_data_sampling",
    "indirect_target_selection",
    "itlb_multihit",
    "l1tf",
    "mds",
    "meltdown",
    "mmio_stale_data",
    "reg_file_data_sampling",
    "retbleed",
    "spec_rstack_overflow",
    "spec_store_bypass",
    "spectre_v1",
    "spectre_v2",
    "srbds",
    "tsx_async_abort",
];

const V1: &str = "Mitigation: usercopy/swapgs barriers and __user pointer sanitization";
const SSB: &str = "Mitigation: Speculative Store Bypass disabled via prctl";

/// The bugs that are given; it does not have the others.
fn processor(bugs: &[(&str, &str)]) -> Vec<Bug> {
    let given = |name: &str| bugs.iter().find(|(given, _)| *given == name).map(|(_, decision)| *decision);
    let both = [("spectre_v1", V1), ("spec_store_bypass", SSB)];
    let common = |name: &str| both.iter().find(|(common, _)| *common == name).map(|(_, decision)| *decision);
    let known = ALL_BUGS.iter().map(|name| (*name, given(name).or(common(name)).unwrap_or("Not affected")));
    let others = bugs.iter().copied().filter(|(name, _)| !ALL_BUGS.contains(name));
    known.chain(others).map(|(name, decision)| Bug { name: name.to_owned(), decision: decision.to_owned() }).collect()
}

fn decided(bugs: &[(&str, &str)]) -> Isolation {
    decide(Some(&processor(bugs)), false)
}

const HASWELL: &[(&str, &str)] = &[
    ("l1tf", "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable"),
    ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable"),
    ("meltdown", "Mitigation: PTI"),
    ("mmio_stale_data", "Unknown: No mitigations"),
    (
        "spectre_v2",
        "Mitigation: Retpolines; IBPB: conditional; IBRS_FW; STIBP: conditional; RSB filling; PBRSB-eIBRS: Not affected; BHI: Not affected",
    ),
    ("srbds", "Mitigation: Microcode"),
];

const SKYLAKE_SERVER: &[(&str, &str)] = &[
    ("gather_data_sampling", "Mitigation: Microcode"),
    ("itlb_multihit", "KVM: Mitigation: VMX disabled"),
    ("l1tf", "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable"),
    ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable"),
    ("meltdown", "Mitigation: PTI"),
    ("mmio_stale_data", "Mitigation: Clear CPU buffers; SMT vulnerable"),
    ("retbleed", "Mitigation: IBRS"),
    (
        "spectre_v2",
        "Mitigation: IBRS; IBPB: conditional; STIBP: conditional; RSB filling; PBRSB-eIBRS: Not affected; BHI: Not affected",
    ),
    ("tsx_async_abort", "Mitigation: Clear CPU buffers; SMT vulnerable"),
];

const CASCADE_LAKE: &[(&str, &str)] = &[
    ("gather_data_sampling", "Mitigation: Microcode"),
    ("indirect_target_selection", "Mitigation: Aligned branch/return thunks"),
    ("itlb_multihit", "KVM: Mitigation: VMX disabled"),
    ("mmio_stale_data", "Mitigation: Clear CPU buffers; SMT vulnerable"),
    ("retbleed", "Mitigation: Enhanced IBRS"),
    (
        "spectre_v2",
        "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: SW loop, KVM: SW loop",
    ),
    ("tsx_async_abort", "Mitigation: TSX disabled"),
];

const SAPPHIRE_RAPIDS: &[(&str, &str)] = &[
    (
        "spectre_v2",
        "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: BHI_DIS_S",
    ),
    ("vmscape", "Mitigation: IBPB before exit to userspace"),
];

const ZEN_2: &[(&str, &str)] = &[
    ("retbleed", "Mitigation: untrained return thunk; SMT enabled with STIBP protection"),
    ("spec_rstack_overflow", "Mitigation: SMT disabled"),
    (
        "spectre_v2",
        "Mitigation: Retpolines; IBPB: conditional; STIBP: always-on; RSB filling; PBRSB-eIBRS: Not affected; BHI: Not affected",
    ),
];

const ZEN_4: &[(&str, &str)] = &[
    ("spec_rstack_overflow", "Mitigation: Safe RET"),
    (
        "spectre_v2",
        "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; STIBP: always-on; RSB filling; PBRSB-eIBRS: Not affected; BHI: Not affected",
    ),
    ("tsa", "Mitigation: Clear CPU buffers"),
];

const ZEN_5: &[(&str, &str)] = &[
    ("spec_rstack_overflow", "Mitigation: IBPB on VMEXIT only"),
    (
        "spectre_v2",
        "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; STIBP: always-on; PBRSB-eIBRS: Not affected; BHI: Not affected",
    ),
];

fn measures(one_user: bool, buffers: bool, l1d: bool) -> Measures {
    Measures { one_user, predictors: true, returns: true, buffers, l1d, each_program: false }
}

#[test]
fn well_known_processors() {
    for (name, bugs, wanted, because) in [
        ("Haswell", HASWELL, measures(true, true, true), "mds meltdown mmio_stale_data spectre_v2"),
        (
            "Skylake",
            SKYLAKE_SERVER,
            measures(true, true, true),
            "mds meltdown mmio_stale_data retbleed spectre_v2 tsx_async_abort",
        ),
        (
            "Cascade Lake",
            CASCADE_LAKE,
            measures(true, true, false),
            "indirect_target_selection mmio_stale_data spectre_v2",
        ),
        ("Sapphire Rapids", SAPPHIRE_RAPIDS, measures(false, false, false), ""),
        ("Zen 2", ZEN_2, measures(true, false, false), "retbleed spectre_v2"),
        ("Zen 4", ZEN_4, measures(true, true, false), "spec_rstack_overflow tsa"),
        ("Zen 5", ZEN_5, measures(false, false, false), ""),
    ] {
        let isolation = decided(bugs);
        assert_eq!(isolation.measures, wanted, "{name}");
        assert_eq!(isolation.because.join(" "), because, "{name}");
    }
}

#[test]
fn threads_of_a_core_that_read_each_other_are_named() {
    assert_eq!(decided(HASWELL).between_threads, ["l1tf", "mds"]);
    assert_eq!(decided(CASCADE_LAKE).between_threads, ["mmio_stale_data"]);
    assert!(decided(ZEN_4).between_threads.is_empty());
}

#[test]
fn two_threads_of_a_core_belong_to_one_user() {
    let isolation = decide(Some(&processor(SAPPHIRE_RAPIDS)), true);
    assert!(isolation.measures.one_user);
    assert_eq!(isolation.because, ["hardware threads"]);
}

/// `mitigations=off` on a Skylake, in the words of 6.1 and of 6.12.
#[test]
fn what_linux_leaves_alone_is_left_alone() {
    for v2 in [
        "Vulnerable, IBPB: disabled, STIBP: disabled, PBRSB-eIBRS: Not affected, BHI: Not affected",
        "Vulnerable; IBPB: disabled; STIBP: disabled; PBRSB-eIBRS: Not affected; BHI: Not affected",
    ] {
        let off = [
            ("l1tf", "Mitigation: PTE Inversion; VMX: vulnerable"),
            ("mds", "Vulnerable; SMT vulnerable"),
            ("meltdown", "Vulnerable"),
            ("retbleed", "Vulnerable"),
            ("spectre_v1", "Vulnerable: __user pointer sanitization and usercopy barriers only; no swapgs barriers"),
            ("spectre_v2", v2),
            ("spec_store_bypass", "Vulnerable"),
            ("indirect_target_selection", "Mitigation: Vulnerable, KVM: Not affected"),
        ];
        assert_eq!(decided(&off), Isolation::default());
    }
}

#[test]
fn a_defence_without_microcode_counts_as_a_bug() {
    for (name, decision) in [
        ("mds", "Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown"),
        ("gather_data_sampling", "Vulnerable: No microcode"),
        ("spec_rstack_overflow", "Vulnerable: Safe RET, no microcode"),
        ("meltdown", "Unknown (XEN PV detected, hypervisor mitigation required)"),
        ("a_bug_of_tomorrow", "Mitigation: something"),
    ] {
        assert_eq!(decided(&[(name, decision)]).because, [name], "{decision}");
    }
    assert!(decided(&[("mds", "Vulnerable: Clear CPU buffers attempted, no microcode")]).measures.buffers);
}

#[test]
fn a_barrier_between_all_programs() {
    let always = "Mitigation: Enhanced / Automatic IBRS; IBPB: always-on; RSB filling; BHI: BHI_DIS_S";
    let isolation = decided(&[("spectre_v2", always)]);
    assert!(isolation.measures.each_program && isolation.measures.predictors && !isolation.measures.one_user);
    let never = "Mitigation: Enhanced / Automatic IBRS; IBPB: disabled; RSB filling; BHI: BHI_DIS_S";
    assert!(!decided(&[("spectre_v2", never)]).measures.predictors);
}

#[test]
fn what_is_unknown_is_done() {
    let empty = tempfile::tempdir().unwrap();
    let isolation = Isolation::find(&Machine::at(empty.path()), &CpuSet::default());
    assert_eq!(isolation.measures, measures(true, true, true));
    assert_eq!(isolation, decide(None, false));
}

#[test]
fn measures_become_the_borders_bits_and_back() {
    for bits in 0..=tacet_abi::TACET_MEASURES_ALL {
        assert_eq!(Measures::from_bits(bits).bits(), bits);
    }
}

#[test]
fn measures_in_words() {
    let text = measures(true, true, true).to_string();
    assert_eq!(
        text,
        "one user at a time; between users a core clears: branch predictors, predicted returns, buffers, L1 data cache"
    );
    assert_eq!(Measures::default().to_string(), "several users at a time; nothing to clear between users");
}

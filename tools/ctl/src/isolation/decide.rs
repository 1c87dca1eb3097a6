// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The decision, from Linux's words about each bug (`arch/x86/kernel/cpu/bugs.c`, `*_show_state`). Pure.
//!
//! The co-kernel is built without retpolines and return thunks, and its entries clear no branch history. It relies on
//! a processor that keeps user mode from training kernel mode (enhanced or automatic IBRS, BHI_DIS_S). On every other
//! one its users take turns, as on a processor by whose bug a program reads mapped or buffered data.

use super::{Bug, Isolation, Measures};

/// `bugs`: none if Linux does not tell. `shares`: two hardware threads of one core belong to the partition.
pub fn decide(bugs: Option<&[Bug]>, shares: bool) -> Isolation {
    let Some(bugs) = bugs else { return everything() };
    let mut result = Isolation::default();
    for bug in bugs {
        let (name, decision) = (bug.name.as_str(), bug.decision.as_str());
        if decision.contains("SMT vulnerable") && !is_left_alone(decision) {
            result.between_threads.push(name.to_owned());
        }
        if judge(name, decision, &mut result.measures) {
            result.because.push(name.to_owned());
        }
    }
    // Linux inverts page-table entries against L1TF even if it was told to do nothing, so its words do not say what it
    // was told. A processor with this bug has Meltdown's as well, and there they do.
    let cached = bugs.iter().any(|bug| bug.name == "l1tf" && !is_not_there(&bug.decision));
    result.measures.l1d = cached && result.because.iter().any(|name| name == "meltdown");
    // Whatever they are, two threads of a core share its caches and its ports.
    if shares && !bugs.iter().all(|bug| is_left_alone(&bug.decision) || is_not_there(&bug.decision)) {
        result.because.push("hardware threads".to_owned());
    }
    result.measures.one_user = !result.because.is_empty();
    result
}

/// Linux says nothing about any bug: what is unknown is done.
fn everything() -> Isolation {
    let measures =
        Measures { one_user: true, predictors: true, returns: true, buffers: true, l1d: true, each_program: false };
    Isolation { measures, because: vec!["unknown bugs".to_owned()], between_threads: Vec::new() }
}

fn is_not_there(decision: &str) -> bool {
    decision == "Not affected"
}

/// By the administrator or by the way the kernel was built. "Vulnerable: ..." is a defence that lacks a part.
fn is_left_alone(decision: &str) -> bool {
    ["Vulnerable;", "Vulnerable,", "Mitigation: Vulnerable"].iter().any(|words| decision.starts_with(words))
        || decision == "Vulnerable"
}

/// Adds the measures that clear something. True: one user at a time.
fn judge(name: &str, decision: &str, measures: &mut Measures) -> bool {
    if is_not_there(decision) || is_left_alone(decision) {
        return false;
    }
    match name {
        // The rest of a turned-off spectre_v2 is caught above.
        "spectre_v2" => spectre_v2(decision, measures),
        "mds" | "tsx_async_abort" | "mmio_stale_data" | "reg_file_data_sampling" | "tsa" => {
            let clears = !decision.starts_with("Mitigation: TSX disabled");
            measures.buffers |= clears;
            clears
        }
        // Microcode does all, or takes the vectors away.
        "gather_data_sampling" => !decision.starts_with("Mitigation:"),
        "retbleed" => decision != "Mitigation: Enhanced IBRS",
        // Without SMT the first Zens do not have it; the others are about guests.
        "spec_rstack_overflow" => {
            !["Mitigation: SMT disabled", "Mitigation: IBPB on VMEXIT only", "Mitigation: Reduced Speculation"]
                .contains(&decision)
        }
        // Fences and masks of the co-kernel's own; a setting of each thread; microcode; guests; advice.
        "spectre_v1" | "spec_store_bypass" | "srbds" | "itlb_multihit" | "vmscape" | "old_microcode" => false,
        "l1tf" => false, // see above
        // "meltdown", "indirect_target_selection", and what is not known yet
        _ => true,
    }
}

fn spectre_v2(decision: &str, measures: &mut Measures) -> bool {
    let has = |words| decision.contains(words);
    measures.returns = true;
    measures.predictors = !has("IBPB: disabled") && has("IBPB");
    measures.each_program = has("IBPB: always-on");
    // Behind the first part "eIBRS" is the name of another bug.
    let method = decision.split([';', ',']).next().unwrap_or("");
    let hardware = ["Automatic IBRS", "Enhanced IBRS", "eIBRS"].into_iter().any(|words| method.contains(words));
    let history = decision.split("BHI: ").nth(1).map_or("", |rest| rest.split([';', ',']).next().unwrap_or(""));
    let history_is_kept_apart = ["", "Not affected", "BHI_DIS_S", "Vulnerable"].contains(&history.trim());
    !hardware || !history_is_kept_apart
}

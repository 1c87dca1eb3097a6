// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of what banks say.

use super::*;

const INTEL: Model = Model::Intel { recovers: true };
const AMD: Model = Model::Amd { contains: true, loses_nothing: true };
/// The interrupted program met the error, and can continue.
const HERE: u64 = IN_PROGRESS | RESTARTS | AT_ERROR;
/// Another CPU met it.
const ELSEWHERE: u64 = IN_PROGRESS | RESTARTS;
const ERROR: u64 = VALID | UNCORRECTED | ENABLED;
const RECOVERABLE: u64 = ERROR | HAS_ADDRESS | HAS_MISC | SIGNALLED | ACTION_REQUIRED;
const PHYSICAL: u64 = 2 << 6 | 6;
const AT: u64 = 0x1234_5678;

fn bank(status: u64) -> Bank {
    Bank { status, address: AT, misc: PHYSICAL }
}

fn judged(model: Model, global: u64, found: Found, status: u64) -> Verdict {
    verdict(global, found, bank(status).severity(model, global, found))
}

fn fatal(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fatal(_))
}

#[test]
fn a_program_that_used_bad_memory_ends_alone() {
    for code in [LOAD, FETCH] {
        assert_eq!(judged(INTEL, HERE, Found::Program, RECOVERABLE | code), Verdict::EndProgram(Some(AT)));
        // it need not be able to continue
        let lost = IN_PROGRESS | AT_ERROR;
        assert_eq!(judged(INTEL, lost, Found::Program, RECOVERABLE | code), Verdict::EndProgram(Some(AT)));
    }
    let poisoned = ERROR | HAS_ADDRESS | POISON;
    assert_eq!(judged(AMD, HERE, Found::Program, poisoned), Verdict::EndProgram(Some(AT)));
    // the address is not a physical one
    assert_eq!(judged(AMD, HERE, Found::Program, ERROR | HAS_ADDRESS), Verdict::EndProgram(None));
    for misc in [1 << 6 | 6, 2 << 6 | 13, 0] {
        let bank = Bank { misc, ..bank(RECOVERABLE | LOAD) };
        assert_eq!(bank.severity(INTEL, HERE, Found::Program), Severity::Used(None));
    }
}

#[test]
fn the_co_kernel_survives_only_where_it_reads_a_programs_memory() {
    assert_eq!(judged(INTEL, HERE, Found::Routine, RECOVERABLE | LOAD), Verdict::EndRoutine);
    assert_eq!(judged(AMD, HERE, Found::Routine, ERROR | HAS_ADDRESS | POISON), Verdict::EndRoutine);
    for (model, status) in [(INTEL, RECOVERABLE | LOAD), (AMD, ERROR | HAS_ADDRESS | POISON)] {
        assert!(fatal(judged(model, HERE, Found::Kernel, status)));
        assert!(fatal(judged(model, IN_PROGRESS | AT_ERROR, Found::Routine, status)), "it cannot continue");
    }
    assert!(fatal(judged(INTEL, HERE, Found::Routine, RECOVERABLE | FETCH)), "its own instructions");
}

#[test]
fn the_error_of_another_cpu_is_survived() {
    for found in [Found::Program, Found::Routine, Found::Kernel] {
        // nothing in the banks; what is there is not enabled, corrected, or that of a CPU with the same bank
        for status in [0, VALID | UNCORRECTED, VALID | ENABLED, RECOVERABLE | LOAD] {
            assert_eq!(judged(INTEL, ELSEWHERE, found, status), Verdict::Continue, "{found:?} {status:#x}");
            let severity = bank(status).severity(INTEL, ELSEWHERE, found);
            assert!(!clears(INTEL, ELSEWHERE, severity), "another CPU has not seen it yet");
        }
    }
    // its place is lost
    assert_eq!(judged(INTEL, IN_PROGRESS, Found::Program, 0), Verdict::EndProgram(None));
    assert!(fatal(judged(INTEL, IN_PROGRESS, Found::Kernel, 0)));
    assert!(fatal(judged(INTEL, RESTARTS, Found::Program, 0)), "no machine check at all");
}

#[test]
fn bad_memory_that_nobody_has_used_is_noted() {
    let bad = Severity::Bad(Some(AT));
    // scrubbing, a cache's write-back, unknown ones, and those that were not signalled
    let optional = ERROR | HAS_ADDRESS | HAS_MISC;
    for status in [optional | SIGNALLED | 0xc0, optional | SIGNALLED | 0x17a, optional | SIGNALLED, optional] {
        assert_eq!(bank(status).severity(INTEL, HERE, Found::Kernel), bad);
        assert_eq!(judged(INTEL, HERE, Found::Kernel, status), Verdict::Continue);
    }
    let deferred = VALID | DEFERRED | HAS_ADDRESS | POISON;
    assert_eq!(bank(deferred).severity(AMD, HERE, Found::Kernel), bad);
    assert!(clears(AMD, HERE, bad) && clears(INTEL, HERE | LOCAL, bad) && !clears(INTEL, HERE, bad));
    assert!(clears(INTEL, HERE, Severity::Used(None)));
}

#[test]
fn what_no_processor_recovers_from_is_fatal() {
    let old = Model::Intel { recovers: false };
    let careless = Model::Amd { contains: true, loses_nothing: false };
    let uncontained = Model::Amd { contains: false, loses_nothing: true };
    for (model, status) in [
        (INTEL, RECOVERABLE | LOAD | CONTEXT_CORRUPT),
        (INTEL, RECOVERABLE | LOAD | LOST_OTHERS),
        (INTEL, RECOVERABLE | 0x135),
        (INTEL, (RECOVERABLE | LOAD) & !HAS_ADDRESS),
        (old, RECOVERABLE | LOAD),
        (AMD, ERROR | CONTEXT_CORRUPT),
        (careless, ERROR | LOST_OTHERS),
        (uncontained, ERROR | HAS_ADDRESS | POISON),
    ] {
        assert!(fatal(judged(model, HERE, Found::Program, status)), "{model:?} {status:#x}");
    }
}

#[test]
fn the_worst_bank_decides() {
    assert!(Severity::Fatal("") > Severity::Used(Some(1)) && Severity::Used(None) > Severity::Bad(Some(1)));
    assert!(Severity::Bad(None) > Severity::None);
}

#[test]
fn corrected_errors_are_counted_as_the_bank_does() {
    let corrected = |model, status, counts| bank(status).corrected(model, counts);
    let three = VALID | 3 << 38;
    for (model, status, counts, errors) in [
        (INTEL, 0, true, 0),
        (INTEL, 3 << 38, true, 0),
        (INTEL, three, true, 3),
        (INTEL, three, false, 1),
        (INTEL, VALID, true, 1),
        (INTEL, VALID | LOST_OTHERS, false, 1),
        (INTEL, VALID | UNCORRECTED, true, 0),
        (INTEL, VALID | CONTEXT_CORRUPT, true, 0),
        (AMD, three, true, 1),
        (AMD, VALID | DEFERRED, true, 0),
    ] {
        assert_eq!(corrected(model, status, counts), errors, "{status:#x}");
    }
}

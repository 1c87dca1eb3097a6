// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The meaning of a machine check for the one CPU that judges it. Pure: it reads no register (`checked.rs` does).
//!
//! Intel: SDM vol. 3, 16.6 and 16.9. AMD: APM vol. 2, 9.3. Where these leave room, the answer is Linux's
//! (`arch/x86/kernel/cpu/mce/severity.c`): what kills one process there kills one program here, and what makes Linux
//! panic ends the partition.
//!
//! Without local machine checks, Intel's processors interrupt all CPUs for the error of one. A CPU that finds nothing
//! of its own in its banks continues, and leaves them as they are: some are shared with CPUs of the host, which expects
//! to find the error.

/// `IA32_MCG_STATUS`: the interrupted program can continue; the instruction pointer is that of the error; a machine
/// check is in progress; it is this CPU's alone.
const RESTARTS: u64 = 1 << 0;
const AT_ERROR: u64 = 1 << 1;
const IN_PROGRESS: u64 = 1 << 2;
const LOCAL: u64 = 1 << 3;

/// `IA32_MCi_STATUS`.
const VALID: u64 = 1 << 63;
const LOST_OTHERS: u64 = 1 << 62;
const UNCORRECTED: u64 = 1 << 61;
const ENABLED: u64 = 1 << 60;
const HAS_MISC: u64 = 1 << 59;
const HAS_ADDRESS: u64 = 1 << 58;
const CONTEXT_CORRUPT: u64 = 1 << 57;
/// Intel, with recovery: the error was signalled; the program must not continue.
const SIGNALLED: u64 = 1 << 56;
const ACTION_REQUIRED: u64 = 1 << 55;
/// AMD: nobody has used the data yet; the error is that of data which were known to be bad.
const DEFERRED: u64 = 1 << 44;
const POISON: u64 = 1 << 43;

/// Intel's codes of what a program did when it met the error.
const LOAD: u64 = 0x134;
const FETCH: u64 = 0x150;

const ADDRESS: u64 = (1 << 52) - 1;

/// The processor's promises about its machine checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Intel and those like it. `recovers`: `IA32_MCG_CAP.SER_P`.
    Intel { recovers: bool },
    /// AMD and Hygon. `contains`: errors are contained in software (SUCCOR); `loses_nothing`: an overflow loses no
    /// error that matters.
    Amd { contains: bool, loses_nothing: bool },
}

/// One bank's registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bank {
    pub status: u64,
    pub address: u64,
    pub misc: u64,
}

/// Where the machine check came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// In a program.
    Program,
    /// In a routine of ours that can end early, because it reads a program's memory.
    Routine,
    /// Elsewhere in the co-kernel.
    Kernel,
}

/// The verdict about one bank, from the least to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing that is this CPU's business.
    None,
    /// Some memory is bad, and nobody has used it yet: the physical address.
    Bad(Option<u64>),
    /// What was interrupted has used bad memory.
    Used(Option<u64>),
    Fatal(&'static str),
}

/// The CPU's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// What was interrupted continues.
    Continue,
    /// The program must not continue; the physical address of the memory that is bad, if it is known.
    EndProgram(Option<u64>),
    /// The routine ends early, as if it had met a page fault.
    EndRoutine,
    /// The co-kernel cannot continue.
    Fatal(&'static str),
}

impl Bank {
    fn has(&self, bits: u64) -> bool {
        self.status & bits == bits
    }

    /// How many errors the bank tells of that the hardware has corrected, and that nobody need do anything about. `counts`:
    /// `IA32_MCG_CAP.CMCI_P`, with which a bank counts.
    pub fn corrected(&self, model: Model, counts: bool) -> u64 {
        let is_deferred = matches!(model, Model::Amd { .. }) && self.has(DEFERRED);
        if !self.has(VALID) || self.has(UNCORRECTED) || self.has(CONTEXT_CORRUPT) || is_deferred {
            return 0;
        }
        let counted = if counts && matches!(model, Model::Intel { .. }) { self.status >> 38 & 0x7fff } else { 0 };
        counted.max(1)
    }

    /// The physical address of the error, if the bank has one.
    fn bad_address(&self, model: Model) -> Option<u64> {
        let usable = match model {
            // to the page at least, and physical
            Model::Intel { .. } => {
                self.has(HAS_ADDRESS | HAS_MISC) && self.misc & 0x3f <= 12 && self.misc >> 6 & 7 == 2
            }
            // otherwise it may be an address within one memory channel
            Model::Amd { .. } => self.has(HAS_ADDRESS | POISON),
        };
        usable.then_some(self.address & ADDRESS)
    }

    /// The verdict about the bank; `global` is `IA32_MCG_STATUS`.
    pub fn severity(&self, model: Model, global: u64, found: Found) -> Severity {
        if !self.has(VALID) {
            return Severity::None;
        }
        match model {
            Model::Intel { recovers } => self.severity_intel(model, recovers, global, found),
            Model::Amd { contains, loses_nothing } => self.severity_amd(model, contains, loses_nothing, found),
        }
    }

    fn severity_intel(&self, model: Model, recovers: bool, global: u64, found: Found) -> Severity {
        let code = self.status & 0xefff;
        match () {
            () if !self.has(ENABLED) => Severity::None,
            () if self.has(CONTEXT_CORRUPT) => Severity::Fatal("the processor's context is corrupt"),
            () if !self.has(UNCORRECTED) => Severity::None,
            () if !recovers => Severity::Fatal("an error that this processor does not recover from"),
            () if !self.has(ACTION_REQUIRED) => Severity::Bad(self.bad_address(model)),
            () if !self.has(SIGNALLED) => Severity::None,
            () if self.has(LOST_OTHERS) => Severity::Fatal("errors were lost"),
            () if !self.has(HAS_ADDRESS | HAS_MISC) => Severity::Fatal("an error without an address"),
            // the error of a CPU that shares the bank
            () if global & (RESTARTS | AT_ERROR) == RESTARTS => Severity::None,
            () if code != LOAD && code != FETCH => Severity::Fatal("an unknown error that needs an action"),
            () if found == Found::Kernel || found == Found::Routine && code != LOAD => {
                Severity::Fatal("the co-kernel's own memory is bad")
            }
            () => Severity::Used(self.bad_address(model)),
        }
    }

    fn severity_amd(&self, model: Model, contains: bool, loses_nothing: bool, found: Found) -> Severity {
        match () {
            () if self.has(CONTEXT_CORRUPT) => Severity::Fatal("the processor's context is corrupt"),
            () if self.has(DEFERRED) => Severity::Bad(self.bad_address(model)),
            () if !self.has(UNCORRECTED) => Severity::None,
            () if self.has(LOST_OTHERS) && !loses_nothing => Severity::Fatal("errors were lost"),
            () if !contains => Severity::Fatal("an error that this processor does not contain"),
            () if found == Found::Kernel => Severity::Fatal("the co-kernel's own memory is bad"),
            () => Severity::Used(self.bad_address(model)),
        }
    }
}

/// The CPU's answer; `worst` is the worst verdict about any bank.
pub fn verdict(global: u64, found: Found, worst: Severity) -> Verdict {
    let restarts = global & RESTARTS != 0;
    match worst {
        Severity::Fatal(why) => Verdict::Fatal(why),
        _ if global & IN_PROGRESS == 0 => Verdict::Fatal("no machine check is in progress"),
        Severity::Used(address) if found == Found::Program => Verdict::EndProgram(address),
        Severity::Used(_) if restarts && found == Found::Routine => Verdict::EndRoutine,
        Severity::Used(_) => Verdict::Fatal("the co-kernel cannot continue"),
        _ if restarts => Verdict::Continue,
        // nothing to blame, but it has lost its place
        _ if found == Found::Program => Verdict::EndProgram(None),
        _ => Verdict::Fatal("the co-kernel cannot continue"),
    }
}

/// Whether a bank that says `severity` is this CPU's to clear: it would count as lost with the next error. One that
/// other CPUs may share stays until one of them has seen it.
pub fn clears(model: Model, global: u64, severity: Severity) -> bool {
    let alone = matches!(model, Model::Amd { .. }) || global & LOCAL != 0;
    match severity {
        Severity::None | Severity::Fatal(_) => false,
        Severity::Bad(_) => alone,
        Severity::Used(_) => true,
    }
}

#[cfg(test)]
#[path = "machine_check_tests.rs"]
mod tests;

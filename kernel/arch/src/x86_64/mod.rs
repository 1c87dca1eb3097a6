// SPDX-License-Identifier: Apache-2.0 OR MIT
//! x86-64. References are to Intel's Software Developer's Manual (SDM).

pub mod machine;
pub mod machine_check;
pub mod paging;
pub mod performance;
pub mod signal_frame;
mod user_registers;

pub use user_registers::{CALL_VECTOR, UserRegisters};

/// The number in ELF headers of programs for it (EM_X86_64).
pub const ELF_MACHINE: u16 = 62;

macro_rules! machine {
    ($($item:item)*) => { $(#[cfg(all(target_arch = "x86_64", target_os = "none"))] $item)* };
}

machine! {
    mod apic;
    mod boot;
    mod checked;
    pub mod clear;
    mod cpu;
    mod descriptor;
    mod entry;
    mod fatal;
    mod halt;
    mod registers;
    pub mod stack;
    mod user;

    pub use apic::{APIC_PAGE, send as interrupt};
    pub use boot::{Boot, PRIVATE_BYTES, performance_now, settle};
    pub use checked::{NOWHERE, Survived, take_corrected};
    pub use cpu::Cpu;
    pub use fatal::{Checked, Fatal, Trap, own_signals};
    pub use registers::{flags, stop, time_stamp as cycles, wild_read};
    pub use user::{Features, SavedUser, User};
}

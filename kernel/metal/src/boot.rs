// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the trampoline's bare long mode to a core that can run programs.

use crate::core_local::{Core, CoreLocal};
use crate::descriptor::Stacks;
use crate::registers::{self, write_msr};
use crate::shared::Shared;
use crate::{apic, entry};
use core::ptr::NonNull;
use tacet_abi::{TACET_CPU_HALTED, TACET_CPU_ONLINE, TACET_PAGE_BYTES, tacet_cpu};

/// Bits of RFLAGS that a system call clears: as Linux's, so that the co-kernel
/// runs with interrupts, direction, trap, nested-task and AC flags off.
const SYSCALL_MASK: u64 = 0x25_7fd5;

/// Takes possession of the core. Called once per core, first.
///
/// # Safety
/// `shared` is the core's page, filled by Linux; interrupts are off; the stack
/// is `boot.stack_top`.
pub unsafe fn adopt(shared: NonNull<tacet_cpu>) -> Core {
    // SAFETY: Linux wrote the settings before it started the core, and does
    // not write them again.
    let boot = unsafe { &(*shared.as_ptr()).boot };
    // SAFETY: the caller's.
    let view = unsafe { Shared::new(shared) };
    let local = boot.private_base as *mut CoreLocal;
    // SAFETY: (1) the values are Linux's own for this machine; (2) the private
    // region is mapped, this core's alone, and zeroed; (3) the stacks lie in it.
    unsafe {
        registers::set_control(boot);
        write_msr(registers::EFER, boot.efer);
        write_msr(registers::PAT, boot.pat);
        write_msr(registers::STAR, boot.star);
        if boot.has_tsc_aux != 0 {
            write_msr(registers::TSC_AUX, boot.tsc_aux);
        }
        if boot.has_xsaves != 0 {
            write_msr(registers::XSS, boot.xss);
        }
        if boot.has_spec_ctrl != 0 {
            write_msr(registers::SPEC_CTRL, boot.spec_ctrl);
        }
        if boot.has_cet != 0 {
            write_msr(registers::S_CET, 0);
        }
        registers::load_root(boot.root);
        (*local).shared = shared.as_ptr() as u64;
        let stacks = Stacks {
            nmi: stack_with_owner(boot.private_base, 5),
            double_fault: stack_with_owner(boot.private_base, 7),
            machine_check: stack_with_owner(boot.private_base, 9),
        };
        (*local).tables.install(&stacks, boot.tsc_aux);
        write_msr(registers::GS_BASE, local as u64);
        write_msr(registers::KERNEL_GS_BASE, 0);
        write_msr(registers::LSTAR, entry::syscall_address());
        write_msr(registers::FMASK, SYSCALL_MASK);
        write_msr(registers::SYSENTER_CS, 0);
    }
    apic::silence(boot.has_x2apic != 0);
    // SAFETY: `local` is not null: it is a kernel address that was just used.
    let core = Core::new(unsafe { NonNull::new_unchecked(local) }, view, boot);
    view.set_state(TACET_CPU_ONLINE);
    core
}

/// Ends the core's service: Linux may start it anew from here on.
pub fn halt(core: &mut Core) -> ! {
    core.drop_space();
    core.shared.set_state(TACET_CPU_HALTED);
    registers::stop()
}

/// The top of the stack in page `page` of a private region; above it lies the
/// region's address, which is the core's own structure.
///
/// # Safety
/// The page is mapped and this core's alone.
unsafe fn stack_with_owner(private_base: u64, page: u64) -> u64 {
    let top = private_base + (page + 1) * u64::from(TACET_PAGE_BYTES);
    // SAFETY: the caller's.
    unsafe { ((top - 8) as *mut u64).write(private_base) };
    top - 16
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the bare long mode in which a host starts a CPU to one that can run programs.

use super::cpu::{Cpu, CpuLocal};
use super::checked::Survived;
use super::descriptor::Stacks;
use super::halt::Alarm;
use super::performance::Performance;
use super::registers::{self, write_msr};
use super::user::Features;
use super::{Fatal, apic, entry, stack};
use crate::signals::Signals;
use core::arch::asm;
use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

/// A CPU's private region: so many bytes, aligned to them.
pub const PRIVATE_BYTES: u64 = 65536;

pub(super) const PAGE_BYTES: u64 = 4096;

/// Pages of the private region: behind the CPU's own structure those for what the layers above keep ([`settle`]), then
/// the stacks, each above a page that is not mapped. The main one reaches to the end.
pub(super) const SETTLED: u64 = 2;
pub(super) const SETTLED_END: u64 = 5;
pub(super) const NMI_STACK: u64 = 6;
pub(super) const DOUBLE_FAULT_STACK: u64 = 8;
pub(super) const MACHINE_CHECK_STACK: u64 = 10;
pub(super) const MAIN_STACK: u64 = 12;

/// Bits of RFLAGS that a system call clears: as Linux's, so that the co-kernel
/// runs with interrupts, direction, trap, nested-task and AC flags off.
const SYSCALL_MASK: u64 = 0x25_7fd5;

/// Control-flow enforcement is on.
const CR4_CET: u64 = 1 << 23;

/// Registers that a CPU loads once, and what it has. A host that shares the machine gives its own settings, so that a
/// program finds the processor as that host would have set it.
pub struct Boot {
    pub cr0: u64,
    pub cr4: u64,
    pub efer: u64,
    pub pat: u64,
    pub star: u64,
    pub xcr0: u64,
    /// IA32_XSS; `None`: the processor has no XSAVES.
    pub xss: Option<u64>,
    /// IA32_SPEC_CTRL, if the processor has it.
    pub spec_ctrl: Option<u64>,
    /// What is cleared between two users: bits of [`super::clear`] for which the processor has the means.
    pub measures: u32,
    /// The CPU's number, and its node from bit 12 on: what LSL of the CPU-number segment gives.
    pub cpu_and_node: u64,
    /// Whether the processor has IA32_TSC_AUX, which gives the same.
    pub has_tsc_aux: bool,
    pub has_cet: bool,
    pub has_pku: bool,
    pub has_xfd: bool,
    pub has_smap: bool,
    pub has_x2apic: bool,
    /// The clock, where the processor is asked for one.
    pub performance: Option<Performance>,
    /// Whether the processor has IA32_ENERGY_PERF_BIAS.
    pub has_energy_bias: bool,
    /// The address space without a program.
    pub idle_root: u64,
    /// The private region.
    pub private_base: u64,
    pub tsc_khz: u64,
}

impl Cpu {
    /// Takes possession of CPU number `index` of `all`. Called once per CPU, first. `fatal` is called for an
    /// exception in the co-kernel, `survived` for memory that a machine check calls bad.
    ///
    /// # Safety
    /// Interrupts are off; the settings are those of this machine, without what the co-kernel does not serve
    /// (PCID, FRED), and keep paging and long mode on; the private region is mapped, this CPU's alone, and zeroed;
    /// the stack is in it.
    pub unsafe fn start(boot: &Boot, all: &'static [Signals], index: u32, fatal: Fatal, survived: Survived) -> Option<Self> {
        let own = all.get(index as usize)?;
        let local = NonNull::new(boot.private_base as *mut CpuLocal)?;
        // SAFETY: (1) the settings are this machine's (caller); (2) the private
        // region is mapped, this CPU's alone, and zeroed; (3) the stacks lie in it.
        unsafe {
            set_control(boot, boot.cr4 & !CR4_CET);
            write_msr(registers::EFER, boot.efer);
            write_msr(registers::PAT, boot.pat);
            write_msr(registers::STAR, boot.star);
            if boot.has_tsc_aux {
                write_msr(registers::TSC_AUX, boot.cpu_and_node);
            }
            if let Some(xss) = boot.xss {
                write_msr(registers::XSS, xss);
            }
            if let Some(spec_ctrl) = boot.spec_ctrl {
                write_msr(registers::SPEC_CTRL, spec_ctrl);
            }
            own.idle_root.store(boot.idle_root, Ordering::Relaxed);
            registers::load_root(boot.idle_root);
            let at = local.as_ptr();
            (*at).signals = &raw const *own as u64;
            (&raw mut (*at).fatal).write(fatal);
            (&raw mut (*at).survived).write(survived);
            let stacks = Stacks {
                nmi: stack_with_owner(boot.private_base, NMI_STACK),
                double_fault: stack_with_owner(boot.private_base, DOUBLE_FAULT_STACK),
                machine_check: stack_with_owner(boot.private_base, MACHINE_CHECK_STACK),
            };
            (*at).tables.install(&stacks, boot.cpu_and_node);
            write_msr(registers::GS_BASE, boot.private_base);
            write_msr(registers::KERNEL_GS_BASE, 0);
            write_msr(registers::LSTAR, entry::syscall_address());
            write_msr(registers::FMASK, SYSCALL_MASK);
            write_msr(registers::SYSENTER_CS, 0);
            if boot.has_cet {
                // The register keeps its value through INIT, and the CPU may have used it. It is cleared before CR4
                // makes it count, or the next indirect jump or return is a fault; and only now, when that fault would
                // have an IDT.
                write_msr(registers::S_CET, 0);
                set_cr4(boot.cr4);
            }
            ask_for_performance(boot);
        }
        apic::silence(boot.has_x2apic);
        let processor = Features::default()
            .with(Features::XSAVES, boot.xss.is_some())
            .with(Features::PKU, boot.has_pku)
            .with(Features::XFD, boot.has_xfd)
            .with(Features::SMAP, boot.has_smap);
        let tsc_khz = boot.tsc_khz;
        let (measures, spec_ctrl) = (boot.measures, boot.spec_ctrl.map(Cell::new));
        let (alarm, link_requests) = (Alarm::default(), Cell::new(0));
        Some(Self { local, own, all, index, processor, tsc_khz, alarm, measures, link_requests, spec_ctrl })
    }
}

/// Control registers and extended features.
///
/// # Safety
/// As for [`Cpu::start`].
unsafe fn set_control(boot: &Boot, cr4: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!("mov cr0, {}", in(reg) boot.cr0, options(nostack));
        set_cr4(cr4);
        asm!("xsetbv", in("ecx") 0, in("eax") boot.xcr0 as u32, in("edx") (boot.xcr0 >> 32) as u32, options(nostack));
        asm!("fninit", options(nostack));
    }
}

/// # Safety
/// As for [`Cpu::start`].
unsafe fn set_cr4(cr4: u64) {
    // SAFETY: the caller's.
    unsafe { asm!("mov cr4, {}", in(reg) cr4, options(nostack)) };
}

/// The highest clock that Linux allowed (`performance.rs`).
///
/// # Safety
/// The processor has what `boot` says.
unsafe fn ask_for_performance(boot: &Boot) {
    if let Some(performance) = boot.performance {
        let (register, value) = performance.request();
        // SAFETY: the register exists (caller); it holds no address, and the value differs from Linux's own in the clock
        // that is asked for.
        unsafe { write_msr(register, value) };
    }
    if boot.has_energy_bias {
        // SAFETY: as above; 0 means performance.
        unsafe { write_msr(registers::ENERGY_PERF_BIAS, 0) };
    }
}

/// The register by which the processor is asked for a clock, as it is; 0 where it is asked by none.
pub fn performance_now(boot: &Boot) -> u64 {
    boot.performance.as_ref().map_or(0, |performance| registers::read_msr(performance.request().0))
}

/// The top of the stack in page `page` of a private region; above it lies the
/// region's address, which is that of the CPU's own structure.
///
/// # Safety
/// The page is mapped and this CPU's alone.
unsafe fn stack_with_owner(private_base: u64, page: u64) -> u64 {
    let top = private_base + (page + 1) * PAGE_BYTES;
    // SAFETY: the caller's.
    unsafe { ((top - 8) as *mut u64).write(private_base) };
    top - 16
}

// The pages of the region up to what is kept.
const _: () = assert!(size_of::<CpuLocal>() <= (SETTLED * PAGE_BYTES) as usize);

/// Puts what the layers above keep of this CPU into its private region, where it stays: the stack is small, and the value
/// is never on it. From here on the stack is measured.
///
/// # Safety
/// The region at `private_base` is mapped and this CPU's alone, the stack is in it, and this is called once.
pub unsafe fn settle<T, F: FnOnce() -> T>(private_base: u64, make: F) -> &'static mut T {
    const { assert!(size_of::<T>() <= ((SETTLED_END - SETTLED) * PAGE_BYTES) as usize && align_of::<T>() <= PAGE_BYTES as usize) };
    const { assert!(size_of::<T>() > 16, "a small value is returned in registers") };
    let place = (private_base + SETTLED * PAGE_BYTES) as *mut T;
    let mut make = ManuallyDrop::new(make);
    // SAFETY: (1) the value fits, and nobody else names these pages (caller); (2) by the calling convention a large result
    // is put where RDI points, and the first argument comes after that; (3) `make` is not used again.
    let settled = unsafe {
        asm!("call {}", sym made::<T, F>, in("rdi") place, in("rsi") &raw mut make, clobber_abi("C"));
        &mut *place
    };
    // SAFETY: the caller's.
    unsafe { stack::begin(private_base) };
    settled
}

/// # Safety
/// `make` is valid, and is not used again.
unsafe extern "C" fn made<T, F: FnOnce() -> T>(make: *mut ManuallyDrop<F>) -> T {
    // SAFETY: the caller's.
    unsafe { ManuallyDrop::take(&mut *make)() }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The beginning and the end of a CPU's service. The other end is `linux/partition` and `linux/arch/x86/start.c`.

use crate::fail;
use crate::host::Linux;
use crate::page::Page;
use core::ptr::NonNull;
use tacet_abi::{
    TACET_CPU_HALTED, TACET_CPU_ONLINE, TACET_PERFORMANCE_CPPC, TACET_PERFORMANCE_HWP, TACET_PERFORMANCE_RATIO,
    TACET_PERFORMANCE_STATE, tacet_cpu, tacet_cpu_boot,
};
use tacet_arch::native::performance::{Control, Performance};
use tacet_arch::native::{self, Boot, Cpu};
use tacet_arch::signals::Signals;

/// Takes possession of the CPU. Called once per CPU, first.
///
/// # Safety
/// `page` is the page that the CPU shares with Linux, filled by Linux; interrupts are off; the stack is
/// `boot.stack_top`.
pub unsafe fn adopt(page: NonNull<Signals>) -> &'static mut tacet_core::Cpu<Linux> {
    let page = page.cast::<tacet_cpu>();
    // SAFETY: Linux wrote the settings before it started the CPU, and does not write them again.
    let boot = unsafe { &(*page.as_ptr()).boot };
    // SAFETY: (1) the pages of all CPUs are mapped for ever, in the order of their indices; (2) all of them are
    // accessed atomically where Signals has a field, and the layouts agree (`layout.rs`).
    let signals = unsafe {
        let first = page.as_ptr().cast::<Signals>().sub(boot.index as usize);
        core::slice::from_raw_parts(first, boot.core_count as usize)
    };
    let settings = settings(boot);
    // SAFETY: the values are Linux's own for this machine; the private region is mapped, this CPU's alone, and zeroed.
    let Some(cpu) = (unsafe { Cpu::start(&settings, signals, boot.index, fail::trapped, fail::survived) }) else {
        // Linux described the CPU wrongly. Last words find the page by the CPU's own GDT, which it has not loaded yet:
        // it is silent, and Linux gives up waiting for it.
        native::stop();
    };
    // SAFETY: the caller's.
    let page = unsafe { Page::new(page) };
    let host = Linux::new(cpu, page, boot);
    page.set_performance(native::performance_now(&settings));
    // SAFETY: the private region is mapped and this CPU's alone, the stack is in it (caller), and the caller calls once.
    let cpu = unsafe { native::settle(boot.private_base, || tacet_core::Cpu::new(host)) };
    page.set_state(TACET_CPU_ONLINE);
    cpu
}

/// Ends the CPU's service, after it has left the address space that it had: Linux may start the CPU anew from here on.
pub fn halt(host: &Linux) -> ! {
    host.page.set_state(TACET_CPU_HALTED);
    native::stop()
}

fn settings(boot: &tacet_cpu_boot) -> Boot {
    Boot {
        cr0: boot.cr0,
        cr4: boot.cr4,
        efer: boot.efer,
        pat: boot.pat,
        star: boot.star,
        xcr0: boot.xcr0,
        xss: (boot.has_xsaves != 0).then_some(boot.xss),
        spec_ctrl: (boot.has_spec_ctrl != 0).then_some(boot.spec_ctrl),
        measures: boot.measures,
        cpu_and_node: boot.tsc_aux,
        has_tsc_aux: boot.has_tsc_aux != 0,
        has_cet: boot.has_cet != 0,
        has_pku: boot.has_pku != 0,
        has_xfd: boot.has_xfd != 0,
        has_smap: boot.has_smap != 0,
        has_x2apic: boot.has_x2apic != 0,
        performance: performance(boot),
        has_energy_bias: boot.has_energy_bias != 0,
        idle_root: boot.root,
        private_base: boot.private_base,
        tsc_khz: boot.tsc_khz,
    }
}

fn performance(boot: &tacet_cpu_boot) -> Option<Performance> {
    let control = match boot.performance {
        TACET_PERFORMANCE_HWP => Control::Hwp,
        TACET_PERFORMANCE_CPPC => Control::Cppc,
        TACET_PERFORMANCE_RATIO => Control::Ratio,
        TACET_PERFORMANCE_STATE => Control::State,
        _ => return None,
    };
    Some(Performance { control, before: boot.performance_before, highest: boot.performance_highest })
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! GDT, IDT and TSS of one CPU.
//!
//! Selectors are Linux's where a program can see them (user code 0x33, user data 0x2b, the CPU-number segment 0x7b that
//! the vDSO reads with LSL). There is no 32-bit code segment: a program that jumps to one faults, and the host decides.

use super::entry;
use core::arch::asm;

pub const KERNEL_CODE: u16 = 0x10;
const TASK_STATE: u16 = 0x40;
const GDT_ENTRIES: usize = 16;
/// Interrupt gates: those that programs may use, and the others.
const USER_GATE: u64 = 0xee;
const KERNEL_GATE: u64 = 0x8e;

/// SDM vol. 3, 8.7: 64-bit task-state segment.
#[repr(C, packed(4))]
struct TaskState {
    reserved0: u32,
    stack: [u64; 3],
    reserved1: u64,
    interrupt_stack: [u64; 7],
    reserved2: u64,
    reserved3: u16,
    io_map: u16,
}

#[repr(C, align(16))]
pub struct Tables {
    gdt: [u64; GDT_ENTRIES],
    state: TaskState,
    idt: [[u64; 2]; 256],
}

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

/// Tops of the stacks that exceptions switch to.
pub struct Stacks {
    pub nmi: u64,
    pub double_fault: u64,
    pub machine_check: u64,
}

impl Tables {
    /// The stack on which the processor saves an interrupted user mode.
    #[inline]
    pub fn set_entry_stack(&mut self, top: u64) {
        self.state.stack[0] = top;
    }

    /// Fills the tables and makes the processor use them.
    ///
    /// # Safety
    /// `self` stays in place for as long as the CPU runs; the stacks are mapped.
    pub unsafe fn install(&mut self, stacks: &Stacks, cpu_and_node: u64) {
        self.state.interrupt_stack = [stacks.nmi, stacks.double_fault, stacks.machine_check, 0, 0, 0, 0];
        self.state.io_map = size_of::<TaskState>() as u16;
        let state = &raw const self.state as u64;
        // As Linux's vDSO expects: limit = cpu | node << 12, type data, DPL 3.
        let number = cpu_and_node & 0xffff | (cpu_and_node >> 16 & 0xf) << 48;
        self.gdt = [0; GDT_ENTRIES];
        for (slot, value) in self.gdt.iter_mut().zip([
            0,
            0,
            0x00af_9b00_0000_ffff, // 0x10 kernel code
            0x00cf_9300_0000_ffff, // 0x18 kernel data
            0,
            0x00cf_f300_0000_ffff, // 0x28 user data
            0x00af_fb00_0000_ffff, // 0x30 user code
            0,
            (size_of::<TaskState>() as u64 - 1) | (state & 0xff_ffff) << 16 | 0x89 << 40 | (state >> 24 & 0xff) << 56,
            state >> 32,
            0,
            0,
            0,
            0,
            0,
            0x0040_f500_0000_0000 | number, // 0x78
        ]) {
            *slot = value;
        }
        // The stubs lie side by side in one page (entry.S), so two gates of them differ in their lowest bits alone.
        let [mut low, high] = gate(0, 0, KERNEL_GATE);
        for slot in &mut self.idt {
            *slot = [low, high];
            low += entry::STUB_BYTES as u64;
        }
        // INT3 and INTO are the only ones that a program may raise by INT n.
        for (vector, stack, kind) in [(2, 1, KERNEL_GATE), (8, 2, KERNEL_GATE), (18, 3, KERNEL_GATE), (3, 0, USER_GATE), (4, 0, USER_GATE)] {
            if let Some(slot) = self.idt.get_mut(vector) {
                *slot = gate(vector, stack, kind);
            }
        }
        let gdt = Pointer { limit: (GDT_ENTRIES * 8 - 1) as u16, base: self.gdt.as_ptr() as u64 };
        let idt = Pointer { limit: 256 * 16 - 1, base: self.idt.as_ptr() as u64 };
        // SAFETY: (1) the tables stay (caller); (2) 0x10 and 0x18 are what the host starts us
        // with, so CS and SS keep their meaning; (3) TR's
        // descriptor was just written as available.
        unsafe {
            asm!("lgdt [{}]", "lidt [{}]", in(reg) &raw const gdt, in(reg) &raw const idt, options(readonly, nostack));
            asm!("push 0x10", "lea {0}, [rip + 2f]", "push {0}", "retfq", "2:", out(reg) _);
            asm!("mov ss, {0:e}", "mov ds, {1:e}", "mov es, {1:e}", "mov fs, {1:e}", "mov gs, {1:e}", in(reg) 0x18, in(reg) 0, options(nostack));
            asm!("ltr {0:x}", in(reg) TASK_STATE, options(nostack));
        }
    }
}

/// A gate to where `vector` goes, on the interrupt stack of this number, or on the current one (0).
#[inline]
fn gate(vector: usize, stack: u64, kind: u64) -> [u64; 2] {
    let address = entry::vector_address(vector);
    let low =
        address & 0xffff | u64::from(KERNEL_CODE) << 16 | stack << 32 | kind << 40 | (address >> 16 & 0xffff) << 48;
    [low, address >> 32]
}

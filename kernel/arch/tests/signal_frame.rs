// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compares signal frames with those of the Linux that runs the test: a handler keeps the frame that it was given, we
//! read it, build the same frame, and let Linux return through ours.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use core::arch::{asm, global_asm};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use tacet_arch::x86_64::signal_frame::{
    EXTENDED_END_BYTES, FRAME_BYTES, Registers, Trap, build, info, least_stack_bytes, open, parse, seal,
};
use tacet_logic::signals::{Action, AlternateStack, Handler, Set, codes, numbers};

/// Where a handler's frame begins, seen from its context.
const BEFORE_CONTEXT: usize = 8;
const STACK_BYTES: usize = 64 << 10;
const MOST_EXTENDED: usize = 16 << 10;

/// The frame that the handler has kept.
struct Kept {
    address: u64,
    info_address: u64,
    bytes: [u8; FRAME_BYTES],
    extended: Vec<u8>,
}

static KEPT: AtomicPtr<Kept> = AtomicPtr::new(ptr::null_mut());
/// A frame that the handler writes over its own before it returns, and the length of its extended state.
static REPLACEMENT: AtomicPtr<Kept> = AtomicPtr::new(ptr::null_mut());

global_asm!("test_restorer:", "mov eax, 15", "syscall");

unsafe extern "C" {
    fn test_restorer();
}

extern "C" fn handler(_signal: i32, info: u64, context: *mut u8) {
    // SAFETY: Linux has put the frame there, and the extended state where the frame says, as long as its mark says.
    unsafe {
        let frame = context.sub(BEFORE_CONTEXT);
        let bytes = frame.cast::<[u8; FRAME_BYTES]>().read();
        let extended = u64::from_le_bytes(bytes[232..240].try_into().unwrap()) as *mut u8;
        let length = extended.add(468).cast::<u32>().read_unaligned() as usize;
        let extended_bytes = std::slice::from_raw_parts(extended, length.min(MOST_EXTENDED)).to_vec();
        let kept = Kept { address: frame as u64, info_address: info, bytes, extended: extended_bytes };
        KEPT.store(Box::into_raw(Box::new(kept)), Ordering::SeqCst);
        let replacement = REPLACEMENT.swap(ptr::null_mut(), Ordering::SeqCst);
        if !replacement.is_null() {
            let replacement = Box::from_raw(replacement);
            frame.cast::<[u8; FRAME_BYTES]>().write(replacement.bytes);
            ptr::copy_nonoverlapping(replacement.extended.as_ptr(), extended, replacement.extended.len());
        }
    }
}

fn kept() -> Box<Kept> {
    let kept = KEPT.swap(ptr::null_mut(), Ordering::SeqCst);
    assert!(!kept.is_null(), "the handler did not run");
    // SAFETY: made by the handler from a box, and taken once.
    unsafe { Box::from_raw(kept) }
}

/// Sends the signal to this thread, with known registers. Returns them and the vector register as they are afterwards.
/// All signals come at this one place in the program, so that a frame of one call fits another.
#[inline(never)]
fn raise(signal: u8) -> ([u64; 8], u64) {
    // SAFETY: getpid and gettid have no preconditions.
    let (process, thread) = unsafe { (libc::getpid() as u64, libc::syscall(libc::SYS_gettid) as u64) };
    let mut seen = [0x88, 0x99, 0xaa, 0, 0xcc, 0xdd, 0xee, 0xff];
    let [r8, r9, r10, r11, r12, r13, r14, r15] = &mut seen;
    let mut vector = 1.5f64;
    // SAFETY: tgkill; the handler leaves the stack below as it is, and registers are declared.
    unsafe {
        asm!("syscall", inout("rax") libc::SYS_tgkill as u64 => _, in("rdi") process, in("rsi") thread,
            in("rdx") u64::from(signal), inout("r8") *r8, inout("r9") *r9, inout("r10") *r10, out("r11") *r11,
            inout("r12") *r12, inout("r13") *r13, inout("r14") *r14, inout("r15") *r15, out("rcx") _,
            inout("xmm15") vector);
    }
    (seen, vector.to_bits())
}

fn set_action(signal: u8, flags: u64) -> Action {
    let (handler, restorer) = (handler as *const () as u64, test_restorer as *const () as u64);
    let flags = flags | Action::RESTORER | Action::INFO;
    let action = Action { handler, flags, restorer, mask: Set::of(&[numbers::USR2]) };
    let bytes = action.to_bytes();
    // SAFETY: the call reads 32 bytes, whose layout is what this test checks too.
    let result = unsafe {
        libc::syscall(libc::SYS_rt_sigaction, i32::from(signal), bytes.as_ptr(), ptr::null_mut::<u8>(), 8usize)
    };
    assert_eq!(result, 0);
    action
}

fn set_stack(stack: &AlternateStack) {
    // SAFETY: the call reads a stack_t of these bytes; the stack is leaked, so it stays.
    let result = unsafe { libc::syscall(libc::SYS_sigaltstack, stack.to_bytes().as_ptr(), ptr::null_mut::<u8>()) };
    assert_eq!(result, 0);
}

fn new_stack() -> AlternateStack {
    let memory = Box::leak(vec![0u8; STACK_BYTES].into_boxed_slice());
    AlternateStack { base: memory.as_ptr() as u64, flags: 0, bytes: STACK_BYTES as u64 }
}

/// The same frame as Linux has made, apart from what is not ours to know.
fn check_frame(kept: &Kept, action: Action, signal: u8, stack: AlternateStack) -> Registers {
    let restored = parse(&kept.bytes).unwrap();
    let registers = restored.registers;
    assert_eq!([registers.r8, registers.r9, registers.r10], [0x88, 0x99, 0xaa]);
    assert_eq!([registers.r12, registers.r13, registers.r14, registers.r15], [0xcc, 0xdd, 0xee, 0xff]);
    // the call leaves these two
    assert_eq!((registers.rax, registers.rcx, registers.r11 & 0xcd5), (0, registers.rip, registers.rflags & 0xcd5));
    assert_eq!(restored.stack, stack);
    let cause = info(&kept.bytes);
    // SAFETY: getpid has no preconditions.
    assert_eq!((cause.signal, cause.code, cause.process()), (signal, codes::THREAD, unsafe { libc::getpid() }));

    let known = Handler { info: cause, action, blocked_before: restored.blocked };
    let extended_bytes = kept.extended.len() - EXTENDED_END_BYTES;
    let built = build(&known, &registers, &stack, extended_bytes, Trap::default()).unwrap();
    assert_eq!((built.address, built.extended_address), (kept.address, restored.extended_address));
    assert_eq!(built.registers.rsi, kept.info_address);
    let mut theirs = kept.bytes;
    // The flags that a thread has although no program sets them, the last exception, and reserved words.
    theirs[184..192].copy_from_slice(&registers.rflags.to_le_bytes());
    theirs[200..216].fill(0);
    theirs[224..232].fill(0);
    theirs[240..304].fill(0);
    for (at, (ours, theirs)) in built.bytes.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "byte {at} of the frame");
    }
    registers
}

/// Linux's own extended state is opened unchanged, and sealed to what it was.
fn check_extended(kept: &Kept) {
    let mut area = kept.extended.clone();
    let features = u64::from_le_bytes(area[472..480].try_into().unwrap());
    assert_eq!(u64::from_le_bytes(area[160 + 15 * 16..][..8].try_into().unwrap()), 1.5f64.to_bits());
    open(&mut area, features).unwrap();
    assert!(area == kept.extended, "opening Linux's extended state changes it");
    let length = area.len();
    area[464..512].fill(0);
    area[length - EXTENDED_END_BYTES..].fill(0);
    seal(&mut area, features).unwrap();
    assert!(area == kept.extended, "sealing does not give what Linux has made");
    assert!(least_stack_bytes(length - EXTENDED_END_BYTES) < STACK_BYTES as u64);
}

#[test]
fn frames_are_those_of_linux() {
    let none = AlternateStack { base: 0, flags: 2, bytes: 0 };
    set_stack(&none);
    // on the thread's own stack
    let action = set_action(numbers::USR1, 0);
    raise(numbers::USR1);
    let first = kept();
    check_frame(&first, action, numbers::USR1, parse(&first.bytes).unwrap().stack);
    check_extended(&first);

    // on an alternate stack
    let stack = new_stack();
    set_stack(&stack);
    let action = set_action(numbers::USR1, Action::ON_STACK);
    raise(numbers::USR1);
    let second = kept();
    assert!(stack.holds(second.address));
    let registers = check_frame(&second, action, numbers::USR1, stack);

    // and Linux returns through ours: registers that the handler's frame was given instead
    let theirs = parse(&second.bytes).unwrap();
    let changed = Registers { r12: 0x1234, r15: 0x5678, ..registers };
    let known = Handler { info: info(&second.bytes), action, blocked_before: theirs.blocked };
    let extended_bytes = second.extended.len() - EXTENDED_END_BYTES;
    let ours = build(&known, &changed, &stack, extended_bytes, Trap::default()).unwrap();
    let mut extended = second.extended.clone();
    extended[160 + 15 * 16..][..8].copy_from_slice(&2.5f64.to_bits().to_le_bytes());
    let replacement = Kept { address: ours.address, info_address: 0, bytes: ours.bytes, extended };
    REPLACEMENT.store(Box::into_raw(Box::new(replacement)), Ordering::SeqCst);
    let (seen, vector) = raise(numbers::USR1);
    assert_eq!(kept().address, ours.address);
    let [.., r12, _, _, r15] = seen;
    assert_eq!((r12, r15, vector), (0x1234, 0x5678, 2.5f64.to_bits()));
    set_stack(&none);
}

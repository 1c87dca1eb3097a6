// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The border's numbers and offsets are those that the layers below use: checked by the compiler.

use core::mem::{offset_of, size_of};
use tacet_abi as abi;
use tacet_abi::{tacet_context, tacet_cpu, tacet_cpu_boot, tacet_registers};
use tacet_arch::native::{APIC_PAGE, CALL_VECTOR, PRIVATE_BYTES, SavedUser, UserRegisters, clear, paging, stack};
use tacet_arch::signals::{ONLINE, Signals};
use tacet_arch::{Mode, signals};
use tacet_core::memory::{BREAK_PAGES, RANGE_BYTES, rights};
use tacet_core::{CPUS, Permits, QUEUE, THREADS, request};

macro_rules! same {
    ($($ours:expr, $theirs:expr;)*) => { $(const _: () = assert!($ours as u64 == $theirs as u64);)* };
}

/// Fields of the same names.
macro_rules! same_offsets {
    ($ours:ty, $theirs:ty: $($field:tt)*) => {
        $(const _: () = assert!(offset_of!($ours, $field) == offset_of!($theirs, $field));)*
    };
}

// The page that a CPU shares with Linux.
same_offsets!(Signals, tacet_cpu: flush_requested attention audible flush_acknowledged active_root state mode
    stack_bytes doorbells_user doorbells_kernel doorbells_empty alarms foreign);
same! {
    size_of::<Signals>(), size_of::<tacet_cpu>();
    signals::PAGE_BYTES, abi::TACET_CPU_BYTES;
    offset_of!(Signals, doorbells_from_cpus), offset_of!(tacet_cpu, doorbells_from_cores);
    offset_of!(Signals, idle_root), offset_of!(tacet_cpu, boot) + offset_of!(tacet_cpu_boot, root);
    offset_of!(Signals, stack_top), offset_of!(tacet_cpu, boot) + offset_of!(tacet_cpu_boot, stack_top);
    offset_of!(Signals, identity), offset_of!(tacet_cpu, boot) + offset_of!(tacet_cpu_boot, apic_id);
    ONLINE, abi::TACET_CPU_ONLINE;
    Mode::Kernel, abi::TACET_MODE_KERNEL;
    Mode::User, abi::TACET_MODE_USER;
    Mode::Idle, abi::TACET_MODE_IDLE;
    Mode::Spinning, abi::TACET_MODE_SPINNING;
    request::POSTED, abi::TACET_ATTENTION_INBOX;
    request::RECALL, abi::TACET_ATTENTION_RECALL;
    request::LEAVE_SPACE, abi::TACET_ATTENTION_DROP;
    request::HALT, abi::TACET_ATTENTION_HALT;
    request::TEST, abi::TACET_ATTENTION_TEST;
    request::WAKE, abi::TACET_ATTENTION_WAKE;
    request::WOKEN, abi::TACET_ATTENTION_WOKEN;
    request::ASK, abi::TACET_ATTENTION_ASK;
}

// A thread's user state.
same_offsets!(UserRegisters, tacet_registers: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi vector error
    rip cs rflags rsp ss);
same_offsets!(SavedUser, tacet_context: registers fs_base gs_base xstate_save_mask xstate_restore_mask ds es fs gs xfd
    pkru spec_ctrl xstate);
same! {
    size_of::<UserRegisters>(), size_of::<tacet_registers>();
    size_of::<SavedUser>(), size_of::<tacet_context>();
    size_of::<tacet_context>(), abi::TACET_CONTEXT_BYTES;
    CALL_VECTOR, abi::TACET_VECTOR_SYSCALL;
    Permits::CALLS.0, abi::TACET_LOCAL_CALLS;
    Permits::FUTEXES.0, abi::TACET_LOCAL_FUTEXES;
    Permits::MEMORY.0, abi::TACET_LOCAL_MEMORY;
    Permits::STAYS.0, abi::TACET_LOCAL_STAYS;
    Permits::SLEEPS.0, abi::TACET_LOCAL_SLEEPS;
    Permits::MOVES_SEVERAL.0, abi::TACET_LOCAL_MOVES_SEVERAL;
}

// What is cleared between users.
same! {
    clear::PREDICTORS, abi::TACET_MEASURE_PREDICTORS;
    clear::RETURNS, abi::TACET_MEASURE_RETURNS;
    clear::BUFFERS, abi::TACET_MEASURE_BUFFERS;
    clear::L1D, abi::TACET_MEASURE_L1D;
}

// Limits and addresses.
same! {
    THREADS, abi::TACET_CONTEXTS_LIMIT;
    CPUS, abi::TACET_MAX_CPUS;
    CPUS / 64, abi::TACET_CPU_WORDS;
    QUEUE, abi::TACET_RING_ENTRIES;
    APIC_PAGE, abi::TACET_LAPIC_BASE;
    PRIVATE_BYTES, abi::TACET_PRIVATE_BYTES;
    stack::BYTES, abi::TACET_STACK_BYTES;
    stack::UNUSED, abi::TACET_STACK_UNUSED;
}

// A process's range.
same! {
    RANGE_BYTES, abi::TACET_RANGE_BYTES;
    BREAK_PAGES, abi::TACET_RANGE_BREAK_PAGES;
    rights::READ_ONLY, abi::TACET_RANGE_READ_ONLY;
    rights::EXECUTABLE, abi::TACET_RANGE_EXECUTABLE;
    rights::INEXECUTABLE, abi::TACET_RANGE_INEXECUTABLE;
}

// Entries of a range's page tables, which Linux reads.
same! {
    paging::PRESENT, abi::TACET_ENTRY_PRESENT;
    paging::WRITE, abi::TACET_ENTRY_WRITABLE;
    paging::RESERVED, abi::TACET_ENTRY_RESERVED;
    paging::HELD, abi::TACET_ENTRY_HELD;
    paging::LEAF, abi::TACET_ENTRY_LEAF;
    paging::MIRRORED, abi::TACET_ENTRY_MIRRORED;
    paging::UNDUMPED, abi::TACET_ENTRY_UNDUMPED;
    paging::READ, abi::TACET_ENTRY_READABLE;
    paging::FRAME, abi::TACET_ENTRY_FRAME;
    paging::NO_EXECUTE, abi::TACET_ENTRY_NO_EXECUTE;
}

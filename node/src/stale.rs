// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Detects the one death of a node that a known mistake of the emulator causes.
//!
//! QEMU's TCG with a thread for each CPU discards its translation of a page before a store to the page, not after it. A
//! CPU that translates in between keeps the old code. Linux patches its code by way of a breakpoint (static keys,
//! tracepoints), so that CPU executes a breakpoint that is no longer in memory. Seen on QEMU 11.1, also while a stock
//! kernel booted. The kernel's last message proves it: the bytes in memory are not a breakpoint.
//!
//! Called when a node has died. Must never blame the emulator for a breakpoint that is in memory: Linux pads its code
//! with breakpoints, and a wild jump hits one.

/// Did the kernel with this console output die of a breakpoint that was not in its memory?
pub fn stale_breakpoint(console: &str) -> bool {
    let mut lines = console.lines().skip_while(|line| !line.contains("int3: 0000"));
    let code = lines.find_map(|line| line.split_once("Code: ").map(|(_, code)| code));
    let Some((before, _)) = code.and_then(|code| code.split_once('<')) else { return false };
    before.split_whitespace().next_back().is_some_and(|byte| byte != "cc")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "[    2.812266] Oops: int3: 0000 [#1] SMP PTI\n\
        [    2.815604] RIP: 0010:enqueue_task_fair+0xa0b/0xcc0\n\
        [    2.815604] Code: 00 e8 ab 1f 02 00 e9 77 fa ff ff 0f <1f> 44 00 00 48 81 bd\n\
        [    2.815604] Code: e5 f7 ff cc <1f> 44\n";

    #[test]
    fn a_breakpoint_that_is_not_in_memory_is_the_emulators_mistake() {
        assert!(stale_breakpoint(SAID));
    }

    #[test]
    fn a_breakpoint_in_memory_is_not() {
        assert!(!stale_breakpoint(&SAID.replace("ff 0f <1f>", "ff cc <1f>")));
        assert!(!stale_breakpoint(&SAID.replace("int3", "general protection fault")));
        assert!(!stale_breakpoint(&SAID.replace("Code:", "Core:")));
        assert!(!stale_breakpoint("Code: 0f <1f>\nOops: int3: 0000\n"));
        assert!(!stale_breakpoint(""));
    }
}

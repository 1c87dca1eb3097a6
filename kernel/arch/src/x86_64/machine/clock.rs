// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rate of the time-stamp counter: what the command line says, or the processor, or else what a known timer shows.
//!
//! The timer is the PC's interval timer (8254), which counts 1,193,182 times a second. Nobody waits for its interrupt:
//! the CPU halts by its own APIC's timer, whose rate it does not know either, and reads the interval timer before and
//! after. So the measurement takes few instructions, also where an emulator counts them.

use super::super::{Cpu, apic, entry, registers};
use super::end::die;
use super::ports::{in8, out8};
use super::settings;
use super::state::line;

const OPTION: &str = "tacet.tsc_khz";
const HZ: u64 = 1_193_182;
const COUNTER: u16 = 0x40;
const COMMAND: u16 = 0x43;
/// Counter 0, both bytes, counts down once.
const COUNT_ONCE: u8 = 0x30;
const LATCH: u8 = 0;

/// One halt: 1 ms where the APIC counts at 1 GHz, 40 ms at 25 MHz. The interval timer wraps after 55 ms.
const NAP: u32 = 62_500;
/// 8 ms, which the reading's own delay does not spoil.
const ENOUGH: u16 = 9_500;
const TRIES: u32 = 3;

/// Ticks of the counter in a millisecond.
pub fn tsc_khz(cpu: &Cpu) -> u64 {
    let value = |word: &[u8]| number(word.strip_prefix(OPTION.as_bytes())?.strip_prefix(b"=")?);
    let given = line().words().filter_map(value).last();
    // A reading that is delayed makes the counter look faster or slower; the machine rarely delays three in the same way.
    let measured = || {
        let mut rates = [0; TRIES as usize];
        for rate in &mut rates {
            *rate = measure(cpu)?;
        }
        rates.sort_unstable();
        rates.get(rates.len() / 2).copied()
    };
    match given.or_else(settings::told_tsc_khz).or_else(measured) {
        Some(khz) => khz,
        None => die(format_args!("the time-stamp counter's rate is unknown; give it in kHz: {OPTION}=2000000")),
    }
}

fn number(word: &[u8]) -> Option<u64> {
    core::str::from_utf8(word).ok()?.parse().ok().filter(|&khz| khz != 0)
}

/// `None`: the interval timer does not count.
fn measure(cpu: &Cpu) -> Option<u64> {
    // SAFETY: the interval timer is nobody's: no interrupt of it is accepted.
    unsafe {
        out8(COMMAND, COUNT_ONCE);
        out8(COUNTER, 0xff);
        out8(COUNTER, 0xff);
    }
    let (from, began) = read();
    for _ in 0..100 {
        nap(cpu);
        let (to, ended) = read();
        let counted = from.wrapping_sub(to);
        if counted >= ENOUGH {
            return Some(ended.wrapping_sub(began) * HZ / u64::from(counted) / 1000);
        }
    }
    None
}

/// The interval timer's count, and the time-stamp counter in the middle of reading it.
fn read() -> (u16, u64) {
    // SAFETY: as in `measure`.
    unsafe { out8(COMMAND, LATCH) };
    let now = registers::time_stamp();
    // SAFETY: as in `measure`.
    let (low, high) = unsafe { (in8(COUNTER), in8(COUNTER)) };
    (u16::from_le_bytes([low, high]), now)
}

/// Halts for a while, by the APIC's timer.
fn nap(cpu: &Cpu) {
    apic::begin_alarm(NAP);
    let mut vector = entry::doze(cpu.local);
    apic::stop_alarm();
    while vector != 0 {
        if vector != apic::SPURIOUS_VECTOR {
            apic::end_of_interrupt();
        }
        vector = entry::drain();
    }
    apic::end_alarm();
}

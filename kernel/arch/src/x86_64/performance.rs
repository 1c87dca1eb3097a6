// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU asks the processor for: its clock (SDM vol. 3, ch. 15; AMD's manual vol. 2, ch. 17).
//!
//! When a CPU goes offline, Linux's drivers lower its request to the minimum, and INIT keeps these registers: a core
//! that wrote nothing would compute at its lowest clock. Linux reads the request while the CPU is still its own; the
//! core asks for the highest clock that Linux's settings allowed, constantly and without saving energy, as a program
//! that computes needs it. Pure: `boot.rs` writes the register.

const HWP_REQUEST: u32 = 0x774;
const PERF_CTL: u32 = 0x199;
const AMD_CPPC_REQUEST: u32 = 0xc001_02b3;
const AMD_PSTATE: u32 = 0xc001_0062;

/// The fields of a request with limits: lowest, highest, desired, and the preference for saving energy.
const LIMITS_AND_PREFERENCE: u64 = 0xffff_ffff;
/// The package's register holds instead of this one.
const HWP_PACKAGE_CONTROL: u64 = 1 << 42;
const PERF_CTL_RATIO: u64 = 0xff00;
const AMD_PSTATE_NUMBER: u64 = 7;

/// By which register the processor is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Intel's hardware-controlled performance states: IA32_HWP_REQUEST.
    Hwp,
    /// AMD's: CPPC_REQUEST.
    Cppc,
    /// A ratio of the clocks, from Linux: IA32_PERF_CTL.
    Ratio,
    /// A number of a state, 0 being the fastest: AMD's PStateCtl.
    State,
}

/// What Linux found while the CPU was its own.
#[derive(Debug, Clone, Copy)]
pub struct Performance {
    pub control: Control,
    /// The register's value.
    pub before: u64,
    /// The most that may be asked for; of [`Control::State`] the lowest number.
    pub highest: u64,
}

impl Performance {
    /// The register, and the value that a core needs.
    pub fn request(&self) -> (u32, u64) {
        match self.control {
            Control::Hwp => {
                let highest = limit(self.before >> 8, self.highest);
                let kept = self.before & !(LIMITS_AND_PREFERENCE | HWP_PACKAGE_CONTROL);
                (HWP_REQUEST, kept | highest << 8 | highest)
            }
            Control::Cppc => {
                let highest = limit(self.before, self.highest);
                (AMD_CPPC_REQUEST, self.before & !LIMITS_AND_PREFERENCE | highest << 8 | highest)
            }
            Control::Ratio => {
                // Linux knows the ratio of the bus to 0.1 GHz only: what it asked for itself is right in any case.
                let ratio = (self.before & PERF_CTL_RATIO).max(self.highest << 8 & PERF_CTL_RATIO);
                (PERF_CTL, self.before & !PERF_CTL_RATIO | ratio)
            }
            Control::State => {
                let number = (self.before & AMD_PSTATE_NUMBER).min(self.highest);
                (AMD_PSTATE, self.before & !AMD_PSTATE_NUMBER | number)
            }
        }
    }
}

/// Linux's own limit, the administrator's; without one, the processor's.
fn limit(field: u64, highest: u64) -> u64 {
    match field & 0xff {
        0 => highest & 0xff,
        limit => limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(control: Control, before: u64, highest: u64) -> u64 {
        Performance { control, before, highest }.request().1
    }

    #[test]
    fn the_clock_is_the_highest_that_linux_allowed() {
        // Idle under a governor that lowers the floor: 4 to 42, some energy to be saved, a desired value.
        assert_eq!(request(Control::Hwp, 0x8014_2a04, 50), 0x2a2a);
        // An administrator's ceiling is kept.
        assert_eq!(request(Control::Hwp, 0x8000_1408, 50), 0x1414);
        // The register as reset has no ceiling.
        assert_eq!(request(Control::Hwp, 0, 50), 0x3232);
        assert_eq!(request(Control::Cppc, 0x8014_0aa6, 0xff), 0xa6a6);
        assert_eq!(request(Control::Cppc, 0, 0xa6), 0xa6a6);
    }

    #[test]
    fn other_fields_stay_and_the_package_does_not_decide() {
        assert_eq!(request(Control::Hwp, 1 << 63 | 1 << 42 | 5 << 32 | 0x2a04, 50), 1 << 63 | 5 << 32 | 0x2a2a);
        assert_eq!(request(Control::Cppc, 0x1_0000_0aa6, 0xff), 0x1_0000_a6a6);
    }

    #[test]
    fn older_registers_never_get_less_than_they_had() {
        // No turbo (bit 32) stays no turbo.
        assert_eq!(request(Control::Ratio, 1 << 32 | 0x0800, 36), 1 << 32 | 0x2400);
        assert_eq!(request(Control::Ratio, 0x1d00, 25), 0x1d00);
        assert_eq!(request(Control::State, 2, 0), 0);
        assert_eq!(request(Control::State, 1, 2), 1);
    }

    #[test]
    fn each_control_has_its_register() {
        let register = |control| Performance { control, before: 0, highest: 1 }.request().0;
        let all = [Control::Hwp, Control::Cppc, Control::Ratio, Control::State].map(register);
        assert_eq!(all, [0x774, 0xc001_02b3, 0x199, 0xc001_0062]);
    }
}

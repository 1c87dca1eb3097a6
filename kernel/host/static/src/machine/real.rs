// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine that boots the image.

pub use tacet_arch::native::machine::{
    Cable, Console, Context, Contexts, Locked, Machine, Network, Ram, Segment, Space, Tables, die, log, power_off,
    reset,
};
pub use tacet_arch::native::{Cpu, User, cycles, take_corrected};

use tacet_core::Common;
use tacet_logic::static_map::Map;

static COMMON: Common = Common::new();
static MAP: Locked<Map> = Locked::new(Map::EMPTY);

/// The state that the core's CPUs share: too large for a CPU's stack, where other values are made.
pub fn common() -> &'static Common {
    &COMMON
}

/// The map of memory, as large.
pub fn map() -> &'static Locked<Map> {
    &MAP
}

/// Between two looks at what another CPU changes.
pub fn relax() {
    core::hint::spin_loop();
}

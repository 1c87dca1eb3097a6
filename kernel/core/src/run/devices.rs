// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The CPU's loop looks at calls whose threads wait for devices, each time that it serves requests: when a thread leaves,
//! at each doorbell, and all the time while it has nothing to run. No thread of these leaves the CPU before its device is
//! done.

use crate::base::flights::MOST;
use crate::base::place::Place;
use crate::cpu::Cpu;
use crate::host::Host;
use crate::syscall::flight;

impl<H: Host> Cpu<H> {
    /// Lets waiting threads continue whose devices are done.
    #[inline]
    pub(crate) fn end_flights(&mut self) {
        if !self.flights.is_empty() {
            self.look_at_flights();
        }
    }

    #[inline(never)]
    fn look_at_flights(&mut self) {
        for index in 0..MOST {
            if let Some((number, flight)) = self.flights.at(index)
                && self.place(number) == Place::WaitsForDevice
            {
                flight::look_aside(self, number, flight);
            }
        }
        self.host.count_progress();
    }
}

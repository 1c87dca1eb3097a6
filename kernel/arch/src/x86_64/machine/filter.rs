// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which frames a virtio network device leaves out: the commands that tell it so, one at a time.
//!
//! `virtio_network.rs` sends them by the device's control queue, and waits for no answer: a device that has not done a command
//! gets no other one, and the next look goes on. It must never be asked for more than the device said it can.

/// The device's features: a control queue, one mode for all that is not its own address, and one for broadcasts.
pub const CONTROL_QUEUE: u64 = 1 << 17;
const CONTROL_RECEPTION: u64 = 1 << 18;
const CONTROL_BROADCASTS: u64 = 1 << 20;
/// All that is asked for.
pub const FEATURES: u64 = CONTROL_QUEUE | CONTROL_RECEPTION | CONTROL_BROADCASTS;

/// VIRTIO_NET_CTRL_RX, then the command, then its value.
pub type Command = [u8; 3];
const RECEPTION: u8 = 0;
const PROMISCUOUS: u8 = 0;
const NO_BROADCASTS: u8 = 5;

pub struct Filter {
    /// Every frame of the network still comes, whomever it is for: so the device begins.
    is_promiscuous: bool,
    /// `None`: the device cannot leave out broadcasts.
    leaves_out: Option<bool>,
    wanted: bool,
}

impl Filter {
    /// `has_address`: frames for this node are those for the device's own address.
    pub fn new(features: u64, has_address: bool) -> Self {
        let can = |feature| features & CONTROL_QUEUE != 0 && features & feature != 0;
        let is_promiscuous = has_address && can(CONTROL_RECEPTION);
        Self { is_promiscuous, leaves_out: can(CONTROL_BROADCASTS).then_some(false), wanted: false }
    }

    /// Whether broadcasts shall be left out from now on.
    pub fn leave_out(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// The next command, which counts as done once the device takes it; `None`: the device is as it shall be.
    pub fn next_command(&mut self) -> Option<Command> {
        if core::mem::take(&mut self.is_promiscuous) {
            return Some([RECEPTION, PROMISCUOUS, 0]);
        }
        // As long as the device is promiscuous it leaves out nothing, so this is the second.
        let leaves_out = self.leaves_out.as_mut().filter(|leaves_out| **leaves_out != self.wanted)?;
        *leaves_out = self.wanted;
        Some([RECEPTION, NO_BROADCASTS, self.wanted.into()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device, with the command that it has not done yet.
    #[derive(Default)]
    struct Device {
        is_quiet: [bool; 2],
        waits: Option<Command>,
    }

    impl Device {
        fn work(&mut self) {
            match self.waits.take() {
                Some([RECEPTION, PROMISCUOUS, value]) => self.is_quiet[0] = value == 0,
                Some([RECEPTION, NO_BROADCASTS, value]) => self.is_quiet[1] = value == 1,
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
    }

    /// Six looks, each with a wish, after which the device works or not; then it has time.
    #[test]
    fn the_device_is_as_it_shall_be_however_slow_it_is() {
        for history in 0..4_u32.pow(6) {
            let (mut filter, mut device) = (Filter::new(FEATURES, true), Device::default());
            let looks = (0..6).map(|look| (history >> (2 * look) & 1 != 0, history >> (2 * look) & 2 != 0));
            for (wish, works) in looks.chain([(true, true); 3]) {
                filter.leave_out(wish);
                if device.waits.is_none() {
                    device.waits = filter.next_command();
                }
                if works {
                    device.work();
                }
            }
            assert_eq!((device.is_quiet, device.waits, filter.next_command()), ([true; 2], None, None), "{history}");
        }
    }

    #[test]
    fn nothing_is_asked_of_a_device_that_cannot() {
        for features in [0, CONTROL_QUEUE, CONTROL_RECEPTION | CONTROL_BROADCASTS] {
            let mut filter = Filter::new(features, true);
            filter.leave_out(true);
            assert_eq!(filter.next_command(), None);
        }
        let mut filter = Filter::new(FEATURES, false);
        assert_eq!(filter.next_command(), None, "without an address of its own, the device must pass on all");
    }
}

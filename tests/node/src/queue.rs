// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which scenario a lane runs next: one of the kernel that it has a node of, then one of a kernel that no lane has begun,
//! then one of the kernel with the most work left.

use std::collections::VecDeque;

use tacet_node::KernelLine;

use crate::scenario::Scenario;

/// What is left of a kernel.
#[derive(Debug)]
pub struct Queue {
    kernel: KernelLine,
    begun: bool,
    /// With the seconds that each is likely to take.
    left: VecDeque<(&'static Scenario, u64)>,
}

impl Queue {
    pub fn new(kernel: KernelLine, left: impl Iterator<Item = (&'static Scenario, u64)>) -> Queue {
        Queue { kernel, begun: false, left: left.collect() }
    }

    fn seconds(&self) -> u64 {
        self.left.iter().map(|(_, seconds)| seconds).sum()
    }
}

/// The next of a lane that has a node of `kernel`.
pub fn next(queues: &mut [Queue], kernel: Option<KernelLine>) -> Option<(KernelLine, &'static Scenario)> {
    let queues = queues.iter_mut().filter(|queue| !queue.left.is_empty());
    let queue = queues.max_by_key(|queue| (Some(queue.kernel) == kernel, !queue.begun, queue.seconds()))?;
    queue.begun = true;
    let (scenario, _) = queue.left.pop_front()?;
    Some((queue.kernel, scenario))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::SCENARIOS;

    #[test]
    fn a_lane_keeps_its_kernel_begins_another_and_helps() {
        let queue = |kernel, count| Queue::new(kernel, SCENARIOS.iter().take(count).map(|scenario| (scenario, 1)));
        let [old, middle, new] = KernelLine::ALL;
        let mut queues = [queue(old, 2), queue(middle, 4), queue(new, 3)];
        let mut take = |kernel| next(&mut queues, kernel).map(|(kernel, scenario)| (kernel, scenario.name));
        let name = |index: usize| SCENARIOS[index].name;
        assert_eq!(take(None), Some((middle, name(0))), "where most is left");
        assert_eq!(take(None), Some((new, name(0))), "where nobody is");
        assert_eq!(take(Some(new)), Some((new, name(1))));
        assert_eq!(take(Some(new)), Some((new, name(2))));
        assert_eq!(take(Some(new)), Some((old, name(0))), "nobody began it");
        assert_eq!(take(Some(old)), Some((old, name(1))));
        assert_eq!(take(Some(old)), Some((middle, name(1))), "helps");
        assert_eq!(take(Some(middle)), Some((middle, name(2))));
        assert_eq!(take(Some(middle)), Some((middle, name(3))));
        assert_eq!(take(Some(middle)), None);
    }

    #[test]
    fn work_is_counted_in_seconds() {
        let [old, middle, _] = KernelLine::ALL;
        let few_long = Queue::new(old, SCENARIOS.iter().take(1).map(|scenario| (scenario, 300)));
        let many_short = Queue::new(middle, SCENARIOS.iter().take(9).map(|scenario| (scenario, 2)));
        assert_eq!(next(&mut [many_short, few_long], None).map(|(kernel, _)| kernel), Some(old));
    }
}

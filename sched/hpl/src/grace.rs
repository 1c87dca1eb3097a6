// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's RCU threads run first while the kernel unloads the scheduler.
//!
//! From the beginning of the end each new task belongs to Linux's fair class, which comes before the class of all tasks
//! that are there already, RCU's threads included. The kernel then waits for a grace period, and only behind that no more
//! tasks are created. New tasks that compute on every CPU would leave RCU's threads a twentieth of the time (none on
//! Linux 6.18), so that the end may take minutes. As real-time threads they do not depend on that.
//!
//! Called by `resident`. If it ends before it has undone this, the threads stay real-time, which harms nothing.

use std::fs;

/// The parent of all of the kernel's threads.
const KTHREADD: i32 = 2;

/// The threads that are real-time because of us.
pub struct Urgent(Vec<i32>);

/// Makes RCU's threads real-time until the result is dropped. Threads that somebody else has made so stay as they are.
pub fn rcu_first() -> Urgent {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|&thread| is_rcu(thread));
    Urgent(threads.filter(|&thread| is_normal(thread) && change(thread, uapi::c::SCHED_FIFO, 1)).collect())
}

impl Drop for Urgent {
    fn drop(&mut self) {
        for &thread in &self.0 {
            change(thread, uapi::c::SCHED_OTHER, 0);
        }
    }
}

fn is_rcu(thread: i32) -> bool {
    fs::read_to_string(format!("/proc/{thread}/stat")).is_ok_and(|stat| is_rcu_s(&stat))
}

/// Whether this is the line of a thread of the kernel's whose name begins with `rcu`: `16 (rcu_preempt) S 2 ...`.
fn is_rcu_s(stat: &str) -> bool {
    let Some((begin, rest)) = stat.rsplit_once(')') else { return false };
    let name = begin.split_once('(').map_or("", |(_, name)| name);
    name.starts_with("rcu") && rest.split_whitespace().nth(1).and_then(|parent| parent.parse().ok()) == Some(KTHREADD)
}

fn is_normal(thread: i32) -> bool {
    uapi::sched_getscheduler(thread).is_ok_and(|policy| policy == uapi::c::SCHED_OTHER)
}

fn change(thread: i32, policy: i32, priority: i32) -> bool {
    let parameters = uapi::c::sched_param { sched_priority: priority };
    uapi::sched_setscheduler(thread, policy, &parameters).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernel_s_threads_named_rcu_count() {
        assert!(is_rcu_s("16 (rcu_preempt) I 2 0 0 0"));
        assert!(is_rcu_s("20 (rcuop/3) S 2 0 0 0"));
        assert!(!is_rcu_s("16 (kworker/0:1) I 2 0 0 0"));
        assert!(!is_rcu_s("300 (rcu_preempt) S 1 0 0 0"));
        assert!(!is_rcu_s("300 (a) (rcu) S 2) R 7 0 0 0"));
        assert!(!is_rcu_s(""));
    }
}

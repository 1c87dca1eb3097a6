// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The turn from looking to being interrupted: nothing that comes between the last look and the wish for an interrupt may
//! be missed, since nobody looks afterwards.
//!
//! The last CPU of a static node that looks at the link calls it (`kernel/host/static/src/link/waiting.rs`).

/// So often something may come between a look and the wish. Where more comes, the next of it interrupts.
const MOST_ROUNDS: u32 = 64;

/// Has what comes to `link` interrupt from here on. `listen` makes the wish, and says whether nothing had come before it;
/// `take` takes everything that has come. A link that does not interrupt is looked at once more.
pub fn listen_from_now_on<L>(
    link: &mut L,
    interrupts: bool,
    mut listen: impl FnMut(&mut L) -> bool,
    mut take: impl FnMut(&mut L),
) {
    for _ in 0..MOST_ROUNDS {
        if listen(link) {
            return;
        }
        take(link);
        if !interrupts {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link to which something comes after each of the next looks, so many times.
    struct Line {
        waiting: u32,
        to_come: u32,
        listens: bool,
        taken: u32,
    }

    fn listen(line: &mut Line) -> bool {
        line.listens = true;
        line.waiting == 0
    }

    fn take(line: &mut Line) {
        line.taken += line.waiting;
        let more = line.to_come.min(1);
        line.to_come -= more;
        line.waiting = more;
    }

    #[test]
    fn nothing_that_comes_in_between_is_missed() {
        for to_come in 0..10 {
            let mut line = Line { waiting: 1, to_come, listens: false, taken: 0 };
            listen_from_now_on(&mut line, true, listen, take);
            assert!(line.listens);
            assert_eq!((line.waiting, line.taken), (0, to_come + 1));
        }
    }

    #[test]
    fn a_link_without_interrupts_is_looked_at_once_more() {
        let mut line = Line { waiting: 1, to_come: 5, listens: false, taken: 0 };
        listen_from_now_on(&mut line, false, listen, take);
        assert_eq!((line.waiting, line.taken), (1, 1));
    }

    #[test]
    fn a_flood_ends_the_looking() {
        let mut line = Line { waiting: 1, to_come: u32::MAX, listens: false, taken: 0 };
        listen_from_now_on(&mut line, true, listen, take);
        assert_eq!(line.taken, MOST_ROUNDS);
    }
}

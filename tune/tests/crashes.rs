// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kills after every single step of apply, of undo, and of jobs that begin and end: undo restores every byte.

mod fake;

use fake::{Fake, Snapshot, everything, job};
use tacet_tune::apply::{Done, reconcile, reconcile_unless, take_claim_back};
use tacet_tune::claim::{Claim, Owner, join};
use tacet_tune::error::Result;
use tacet_tune::journal::Journal;
use tacet_tune::plan::online;
use tacet_tune::verify;

fn to(node: &Fake, claims: &[Claim]) -> Result<Done> {
    reconcile(node, Journal::open(node)?, claims)
}

fn add(node: &Fake, claim: Claim) -> Result<Done> {
    let journal = Journal::open(node)?;
    let claims = join(&journal.state.claims, claim, &online(node, &journal.state)?)?;
    reconcile(node, journal, &claims)
}

fn end(node: &Fake, id: &str) -> Result<Done> {
    let journal = Journal::open(node)?;
    let owner: Owner = id.parse().unwrap();
    let rest: Vec<Claim> = journal.state.claims.iter().filter(|claim| claim.owner != owner).cloned().collect();
    reconcile(node, journal, &rest)
}

fn whole_node() -> Claim {
    everything(Owner::Node, "4-7")
}

/// Checks that every byte is as before and nothing is left over.
fn is_as_before(node: &Fake, before: &Snapshot, when: &str) {
    node.go_on();
    let done = to(node, &[]).unwrap();
    assert!(done.not_restored.is_empty(), "{when}: {:?}", done.not_restored);
    assert_eq!(node.differs(before), None, "{when}");
    assert!(!node.has_journal(), "{when}");
}

/// Runs `act` with a stop after 1, 2, 3 ... steps until it completes; returns the number of steps it needs.
fn after_each_step(prepare: impl Fn(&Fake), act: impl Fn(&Fake), check: impl Fn(&Fake, &str)) -> u32 {
    for steps in 0.. {
        let node = Fake::node();
        prepare(&node);
        node.stop_after(steps);
        act(&node);
        let stopped = node.has_stopped();
        check(&node, &format!("after {steps} steps"));
        if !stopped {
            return steps;
        }
    }
    unreachable!()
}

#[test]
fn apply_killed_anywhere() {
    let before = Fake::node().snapshot();
    let apply = |node: &Fake| drop(to(node, &[whole_node()]));
    let steps = after_each_step(|_| (), apply, |node, when| is_as_before(node, &before, when));
    // each countermeasure writes to the journal, and changes something
    assert!(steps > 80, "{steps}");
}

/// A signal between any two countermeasures: the claims are those of before, and so is every byte.
#[test]
fn apply_interrupted_anywhere() {
    let jobs: [&[Claim]; 2] = [&[], &[job("a", "6-7")]];
    for before in jobs {
        let mut asked_at_most = 0;
        for asked_until in 0.. {
            let node = Fake::node();
            to(&node, before).unwrap();
            let untouched = node.snapshot();
            let journal = Journal::open(&node).unwrap();
            let new = job("b", "4-5");
            let claims = join(&journal.state.claims, new.clone(), &online(&node, &journal.state).unwrap()).unwrap();
            let asked = std::cell::Cell::new(0);
            let stop = || asked.replace(asked.get() + 1) == asked_until;
            let ended = reconcile_unless(&node, journal, &claims, &stop).unwrap();
            if ended.is_some() {
                asked_at_most = asked_until;
                break;
            }
            let back = take_claim_back(&node, &new.owner, before).unwrap();
            assert!(back.not_restored.is_empty(), "{asked_until}: {:?}", back.not_restored);
            assert_eq!(node.differs(&untouched), None, "interrupted at {asked_until}");
            assert_eq!(node.has_journal(), !before.is_empty(), "interrupted at {asked_until}");
        }
        assert!(asked_at_most > 10, "{asked_at_most}");
    }
}

#[test]
fn undo_killed_anywhere() {
    let before = Fake::node().snapshot();
    let prepare = |node: &Fake| drop(to(node, &[whole_node()]).unwrap());
    let undo = |node: &Fake| drop(to(node, &[]));
    let steps = after_each_step(prepare, undo, |node, when| is_as_before(node, &before, when));
    assert!(steps > 80, "{steps}");
}

#[test]
fn apply_and_then_its_undo_killed() {
    let before = Fake::node().snapshot();
    let undo_too = |node: &Fake, when: &str| {
        for steps in [1, 2, 3, 5, 8, 13, 21, 34] {
            node.stop_after(steps);
            drop(to(node, &[]));
        }
        is_as_before(node, &before, when);
    };
    after_each_step(|_| (), |node| drop(to(node, &[whole_node()])), undo_too);
}

#[test]
fn apply_goes_on_where_it_was_killed() {
    let (before, untouched) = (Fake::node().snapshot(), Fake::node());
    to(&untouched, &[whole_node()]).unwrap();
    let applied = untouched.snapshot();
    after_each_step(
        |_| (),
        |node| drop(to(node, &[whole_node()])),
        |node, when| {
            node.go_on();
            to(node, &[whole_node()]).unwrap();
            assert_eq!(node.differs(&applied), None, "{when}");
            is_as_before(node, &before, when);
        },
    );
}

#[test]
fn the_beginning_of_a_job_killed_beside_another() {
    let (before, other_alone) = (Fake::node().snapshot(), Fake::node());
    add(&other_alone, job("a", "2-3")).unwrap();
    let other_alone = other_alone.snapshot();
    let begin = |node: &Fake| drop(add(node, job("b", "4-5")));
    after_each_step(
        |node| drop(add(node, job("a", "2-3")).unwrap()),
        begin,
        |node, when| {
            node.go_on();
            end(node, "b").unwrap();
            assert_eq!(node.differs(&other_alone), None, "{when}");
            is_as_before(node, &before, when);
        },
    );
}

#[test]
fn the_end_of_a_job_killed_beside_another() {
    let (before, other_alone) = (Fake::node().snapshot(), Fake::node());
    add(&other_alone, job("b", "4-5")).unwrap();
    let other_alone = other_alone.snapshot();
    let both = |node: &Fake| {
        add(node, job("a", "2-3")).unwrap();
        add(node, job("b", "4-5")).unwrap();
    };
    after_each_step(
        both,
        |node| drop(end(node, "a")),
        |node, when| {
            node.go_on();
            end(node, "a").unwrap();
            assert_eq!(node.differs(&other_alone), None, "{when}");
            let verdict = verify::verify(node, &verify::applied(node).unwrap()).unwrap();
            assert!(verdict.holds(), "{when}: {:?}", (verdict.drifted, verdict.gone, verdict.new));
            is_as_before(node, &before, when);
        },
    );
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random histories of grow, shrink, begin and end under programs, with a fault at any step: what the module says and
//! does is what the model says, and after an error nothing has changed.

#[path = "model/answer.rs"]
mod answer;
#[path = "model/partition.rs"]
mod partition;
#[path = "model/request.rs"]
mod request;

use std::sync::LazyLock;

use proptest::prelude::*;

use answer::Answer;
use partition::Partition;
use request::{Request, Step};
use tacet_jobs_tests::World;

static WORLD: LazyLock<World> = LazyLock::new(|| World::build().unwrap());

fn text(steps: &[Step]) -> String {
    let mut text = String::new();
    for (number, step) in steps.iter().enumerate() {
        text += &format!("{number} {}\n", step.request.line(step.fault));
        if let Some(between) = &step.between {
            text += &format!("+b{number} {}\n", between.line(0));
        }
    }
    text
}

/// The answers in the order in which they came: a request in between may have ended first.
fn compare(steps: &[Step], answers: &[Answer]) -> Result<(), String> {
    let mut partition = Partition::default();
    let mut answers = answers.iter();
    for (number, step) in steps.iter().enumerate() {
        let mut answer = answers.next().ok_or("an answer is missing")?;
        let mut between = step.between.as_ref();
        partition.begins(&step.request);
        if let (Some(request), true) = (between, answer.name == format!("b{number}")) {
            partition.sleeps(&step.request);
            partition.begins(request);
            partition.ends(request, answer).map_err(|what| format!("b{number}: {what}"))?;
            answer = answers.next().ok_or("an answer is missing")?;
            between = None;
        }
        partition.ends(&step.request, answer).map_err(|what| format!("{number}: {what}"))?;
        if let Some(request) = between {
            let answer = answers.next().ok_or("an answer is missing")?;
            partition.begins(request);
            partition.ends(request, answer).map_err(|what| format!("b{number}: {what}"))?;
        }
    }
    Ok(())
}

fn run(steps: &[Step]) -> Result<Vec<Answer>, String> {
    let text = text(steps);
    let lines = WORLD.run(&text).map_err(|error| format!("{error}\n{text}"))?;
    let answers: Vec<Answer> = lines.iter().map(|line| Answer::read(line)).collect::<Result<_, _>>()?;
    compare(steps, &answers).map_err(|what| format!("{what}\n{text}{}", lines.join("\n")))?;
    Ok(answers)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histories_are_as_in_the_model(steps in proptest::collection::vec(Step::any(), 1..=100)) {
        run(&steps).map_err(TestCaseError::fail)?;
    }
}

/// Each step of each kind of request fails once: none is left out by chance. Where the request has nothing else against
/// it, nothing changes.
#[test]
fn each_step_of_a_request_can_fail() {
    for kind in Request::with_many_steps() {
        let mut hit = 0;
        for fault in 1.. {
            let mut steps = Request::before().map(Step::plain).to_vec();
            steps.push(Step { request: kind.clone(), fault, between: None });
            let answers = run(&steps).unwrap();
            let [.., before, after] = &answers[..] else { panic!("no answers") };
            if !after.failed {
                break;
            }
            assert!(
                after.error == 0 || before.here == after.here,
                "{kind:?}: step {fault} leaves CPUs where they were not"
            );
            hit += 1;
        }
        assert!(hit >= 2, "{kind:?}: only {hit} of its steps failed");
    }
}

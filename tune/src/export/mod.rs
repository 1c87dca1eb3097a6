// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A plan in the format of other tools, for sites that deploy those: a TuneD profile, systemd drop-ins.
//!
//! Called by the command. A comment in the output lists what the format cannot express. Reads only.

mod systemd;
mod tuned;

pub use systemd::systemd;
pub use tuned::tuned;

use crate::form::Form;
use crate::object::Object;
use crate::plan::{Plan, Step};

/// A file below a directory that the caller names.
#[derive(Debug, PartialEq, Eq)]
pub struct Exported {
    pub path: String,
    pub text: String,
}

/// All changes of a plan, in force here or not, each object once.
fn steps(plan: &Plan) -> Vec<&Step> {
    let mut steps: Vec<&Step> = Vec::new();
    for step in plan.parts.iter().flat_map(|part| &part.changes) {
        if !steps.iter().any(|known| known.change.object == step.change.object) {
            steps.push(step);
        }
    }
    steps
}

/// The name of a file below /proc/sys, like `vm.stat_interval`, and the value.
fn sysctl(step: &Step) -> Option<(String, &str)> {
    let Object::File { path } = &step.change.object else { return None };
    let name = path.strip_prefix("/proc/sys/")?;
    Some((name.replace('/', "."), &step.change.wanted))
}

/// A plain value in a file of sysfs that exists after each boot. Cgroups do not, and have their own tools.
fn sysfs(step: &Step) -> Option<(&str, &str)> {
    let Object::File { path } = &step.change.object else { return None };
    let plain = step.change.original.is_some() && matches!(step.change.form, Form::Text | Form::Mask | Form::List);
    let there = path.starts_with("/sys/") && !path.starts_with("/sys/fs/");
    (plain && there).then_some((path, &step.change.wanted))
}

/// The countermeasures that are not, or not completely, in the output, for a comment.
fn left_out(plan: &Plan, written: impl Fn(&Step) -> bool) -> Vec<String> {
    let lost = |part: &&crate::plan::Part| part.changes.iter().any(|step| !written(step));
    plan.parts.iter().filter(lost).map(|part| part.measure.to_owned()).collect()
}

fn comment(plan: &Plan, left_out: &[String]) -> String {
    let mut text = format!(
        "# Made by `tacet tune export` for {} of the application, {} of the system.\n",
        plan.application.named(),
        plan.system.named()
    );
    if !left_out.is_empty() {
        text += &format!("# Not in here, or not all of it: {}\n", left_out.join(", "));
    }
    text
}

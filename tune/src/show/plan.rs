// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A plan as a diff of the node, short enough to read in a minute.

use super::{alike, count, table};
use crate::plan::{Part, Plan, Step};
use crate::split::{Change, Note};

/// With `all`, each object has its own line.
pub fn plan(plan: &Plan, all: bool) -> String {
    let mut text =
        format!("{} for the application, {} for the system\n", plan.application.named(), plan.system.named());
    text += &format!(
        "(`list` and `tacet noise trace` call them LIST and REST: LIST={}, REST={})\n",
        plan.application, plan.system
    );
    let (open, settled): (Vec<&Part>, Vec<&Part>) = plan.parts.iter().partition(|part| part.open().next().is_some());
    for part in &open {
        text += &format!("\n{}: {}\n  stops: {}\n  costs: {}\n", part.measure, part.why, part.stops, part.cost);
        text += &diff(part, all);
    }
    text += &remarks(plan);
    let quiet = settled.iter().filter(|part| part.notes().is_empty() && part.boot().is_empty());
    let quiet: Vec<&str> = quiet.map(|part| part.measure).collect();
    if !quiet.is_empty() {
        text += &format!("\nnothing to change: {}\n", quiet.join(", "));
    }
    if !plan.boot_line.is_empty() {
        text += &format!("\nonly a boot can do these; add to the kernel's command line:\n  {}\n", plan.boot_line);
    }
    text += &left_out(plan, all);
    let changes = open.iter().map(|part| part.open().count()).sum();
    text + &match changes {
        0 => "\nnothing to change\n".to_owned(),
        changes => format!(
            "\n{} by {}; `tacet tune apply`, and `tacet tune undo`\n",
            count(changes, "change"),
            count(open.len(), "countermeasure")
        ),
    }
}

fn diff(part: &Part, all: bool) -> String {
    let steps: Vec<&Step> = part.open().collect();
    let values = |step: &&Step| {
        let Change { object, form, wanted, .. } = &step.change;
        format!("{} -> {}", object.brief(*form, step.now.as_deref()), form.brief(wanted))
    };
    let lines = if all {
        steps.iter().map(|step| (step.change.object.to_string(), values(step))).collect()
    } else {
        alike::lines(&steps, |step| &step.change.object, values)
    };
    table(4, lines.into_iter().map(|(object, values)| vec![object, values]))
}

/// Remarks that are not changes.
fn remarks(plan: &Plan) -> String {
    let mut text = String::new();
    for part in &plan.parts {
        for note in part.notes() {
            let line = match note {
                Note::Told(line) | Note::Found(line) => line.clone(),
                Note::Missing(what) => format!("{what} is not on this node"),
            };
            text += &format!("  {}: {line}\n", part.measure);
        }
    }
    if text.is_empty() { text } else { format!("\nto know:\n{text}") }
}

/// Countermeasures that a person may add, and what they would stop.
fn left_out(plan: &Plan, all: bool) -> String {
    let mut text = String::new();
    for part in &plan.left_out {
        text += &format!("  {}: {}\n", part.measure, part.why);
        if all {
            text += &diff(part, all);
        }
        for note in part.notes() {
            if let Note::Found(line) = note {
                text += &format!("    {line}\n");
            }
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\nleft out, because not every site wants them; `tacet tune list NAME` describes one, `--with NAME` adds it:\n{text}"
    )
}

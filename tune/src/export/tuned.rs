// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A TuneD profile: sysctl, sysfs, scheduler (interrupts and threads by `isolated_cores`), cpu, bootloader.

use super::{Exported, comment, left_out, steps, sysctl, sysfs};
use crate::object::Object;
use crate::plan::{Plan, Step};

pub fn tuned(plan: &Plan) -> Vec<Exported> {
    let lost = left_out(plan, |step| sysctl(step).is_some() || sysfs(step).is_some() || by_the_scheduler(step));
    let mut text = comment(plan, &lost);
    text += "[main]\nsummary=Linux's own work leaves the application's CPUs\n";
    let steps = steps(plan);
    let section = |name: &str, lines: Vec<String>| {
        if lines.is_empty() { String::new() } else { format!("\n[{name}]\n{}\n", lines.join("\n")) }
    };
    text += &section(
        "sysctl",
        steps.iter().filter_map(|step| sysctl(step)).map(|(name, value)| format!("{name}={value}")).collect(),
    );
    let governed = |path: &str| path.ends_with("/scaling_governor");
    let plain = steps.iter().filter_map(|step| sysfs(step)).filter(|(path, _)| !governed(path));
    text += &section("sysfs", plain.map(|(path, value)| format!("{path}={value}")).collect());
    if steps.iter().any(|step| by_the_scheduler(step)) {
        text += &section("scheduler", vec![format!("isolated_cores={}", plan.application)]);
    }
    if steps.iter().filter_map(|step| sysfs(step)).any(|(path, _)| governed(path)) {
        // TuneD has one governor for all CPUs of a section
        let devices = plan.application.iter().map(|cpu| format!("cpu{cpu}")).collect::<Vec<_>>().join(",");
        text += &section("cpu", vec![format!("devices={devices}"), "governor=performance".to_owned()]);
    }
    if !plan.boot_line.is_empty() {
        text += &section("bootloader", vec![format!("cmdline_tacet={}", plan.boot_line)]);
    }
    vec![Exported { path: "tuned/tacet/tuned.conf".to_owned(), text }]
}

/// TuneD moves interrupts and threads itself.
fn by_the_scheduler(step: &Step) -> bool {
    match &step.change.object {
        Object::File { path } => path.starts_with("/proc/irq/"),
        Object::Affinity { .. } => true,
        _ => false,
    }
}

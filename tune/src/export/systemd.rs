// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files for systemd: values written at boot by sysctl.d(5) and tmpfiles.d(5), and drop-ins of the units whose CPUs the
//! plan would change. A file without a line is not written.

use super::{Exported, comment, left_out, steps, sysctl, sysfs};
use crate::object::Object;
use crate::plan::{Plan, Step};
use crate::systemd::KEEPER;

pub fn systemd(plan: &Plan) -> Vec<Exported> {
    let lost = left_out(plan, |step| sysctl(step).is_some() || sysfs(step).is_some() || unit(step).is_some());
    let head = comment(plan, &lost);
    let (mut values, mut files, mut units) = (String::new(), String::new(), Vec::new());
    for step in steps(plan) {
        if let Some((name, value)) = sysctl(step) {
            values += &format!("{name} = {value}\n");
        } else if let Some((path, value)) = sysfs(step) {
            // `w` writes an existing file and creates none
            files += &format!("w {path} - - - - {value}\n");
        } else if let Some((unit, property)) = unit(step) {
            let section = if unit.ends_with(".scope") { "Scope" } else { "Slice" };
            let lines = format!("[{section}]\n{property}={}\n", step.change.wanted);
            units.push((format!("systemd/system/{unit}.d/90-tacet.conf"), lines));
        }
    }
    let fixed = [("sysctl.d/90-tacet.conf".to_owned(), values), ("tmpfiles.d/90-tacet.conf".to_owned(), files)];
    let written = fixed.into_iter().chain(units).filter(|(_, lines)| !lines.is_empty());
    written.map(|(path, lines)| Exported { path, text: format!("{head}{lines}") }).collect()
}

/// A unit and its property.
fn unit(step: &Step) -> Option<(&str, &str)> {
    match &step.change.object {
        // it serves a partition, which no file of systemd makes
        Object::Unit { unit, property } if unit != KEEPER => Some((unit, property)),
        _ => None,
    }
}

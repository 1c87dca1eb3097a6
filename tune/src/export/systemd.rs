// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files for systemd: slices bound to the system's CPUs, values written at boot by sysctl.d(5) and tmpfiles.d(5).

use super::{Exported, comment, left_out, steps, sysctl, sysfs};
use crate::plan::Plan;

const SLICES: [&str; 4] = ["init.scope", "system.slice", "user.slice", "machine.slice"];

pub fn systemd(plan: &Plan) -> Vec<Exported> {
    let lost = left_out(plan, |step| sysctl(step).is_some() || sysfs(step).is_some());
    let head = comment(plan, &lost);
    let (mut values, mut files) = (head.clone(), head.clone());
    for step in steps(plan) {
        if let Some((name, value)) = sysctl(step) {
            values += &format!("{name} = {value}\n");
        } else if let Some((path, value)) = sysfs(step) {
            // `w` writes an existing file and creates none
            files += &format!("w {path} - - - - {value}\n");
        }
    }
    let mut exported = vec![
        Exported { path: "sysctl.d/90-tacet.conf".to_owned(), text: values },
        Exported { path: "tmpfiles.d/90-tacet.conf".to_owned(), text: files },
    ];
    for unit in SLICES {
        let section = if unit.ends_with(".scope") { "Scope" } else { "Slice" };
        let text = format!("{head}[{section}]\nAllowedCPUs={}\n", plan.system);
        exported.push(Exported { path: format!("systemd/system/{unit}.d/90-tacet.conf"), text });
    }
    exported
}

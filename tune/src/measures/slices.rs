// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Binds daemons and user sessions to the system's CPUs by their cgroups: systemd's slices, or the groups of another
//! manager.

use super::{About, Measure, partition};
use crate::form::Form;
use crate::node;
use crate::object::Object;
use crate::split::{Proposal, Split};

pub struct Slices;

const BASE: &str = "/sys/fs/cgroup";
const UNITS: [&str; 4] = ["init.scope", "system.slice", "user.slice", "machine.slice"];

impl Measure for Slices {
    fn about(&self) -> &'static About {
        &About {
            name: "slices",
            does: "binds the cgroups of daemons, user sessions and machines to the system's CPUs",
            stops: "task",
            cost: "a job manager that starts its jobs below system.slice loses the application's CPUs: leave this out there",
            applied: "AllowedCPUs= of systemd's slices (systemctl set-property --runtime); without systemd cpuset.cpus of all \
                      cgroups below the root",
            checked: "systemd's property, or the file",
            kernels: "cgroup v2 with the cpuset controller; systemd 244 or later",
            source: "Gerofi et al., SC '21, section 4.2; systemd.resource-control(5)",
            usual: false,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let system = split.system.to_string();
        partition::want_controllers(split, &mut proposal);
        if node::systemd_runs(split.node) {
            for unit in UNITS.iter().filter(|unit| split.node.exists(&format!("{BASE}/{unit}"))) {
                let object = Object::Unit { unit: (*unit).to_owned(), property: "AllowedCPUs".to_owned() };
                proposal.want(split, object, Form::List, system.clone());
            }
            return proposal;
        }
        for name in split.list(BASE) {
            let group = format!("{BASE}/{name}");
            let ours = name == "tacet" || name.starts_with("tacet-job-");
            if !ours && split.node.exists(&format!("{group}/cgroup.procs")) {
                // the file exists only with the controller
                let object = Object::file(format!("{group}/cpuset.cpus"));
                match split.original(&object) {
                    Ok(Some(_)) => proposal.want(split, object, Form::List, system.clone()),
                    _ => proposal.make(object, Form::List, system.clone()),
                }
            }
        }
        proposal
    }
}

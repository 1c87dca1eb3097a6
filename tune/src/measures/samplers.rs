// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds programs that periodically sample every CPU by their names, and freezes their units.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};
use crate::threads;

pub struct Samplers;

const GROUPS: &str = "/sys/fs/cgroup";

/// Names as the kernel keeps them: at most 15 characters.
const NAMES: &[&str] = &[
    "atop",
    "atopacctd",
    "cadvisor",
    "collectd",
    "datadog-agent",
    "dcgm-exporter",
    "ganglia",
    "gmond",
    "irqbalance",
    "ldmsd",
    "netdata",
    "node-exporter",
    "node_exporter",
    "nv-hostengine",
    "perf",
    "pmcd",
    "pmdalinux",
    "pmdaperfevent",
    "pmdaproc",
    "pmlogger",
    "powertop",
    "prometheus-node",
    "rasdaemon",
    "sadc",
    "sar",
    "tuned",
    "telegraf",
    "thermald",
    "turbostat",
    "zabbix_agent2",
    "zabbix_agentd",
];

impl Measure for Samplers {
    fn about(&self) -> &'static About {
        &About {
            name: "samplers",
            does: "freezes the units of known samplers and balancers (sar, collectd, pcp, irqbalance, ...)",
            stops: "function call interrupts of perf and aperfmperf, NMI; interrupts steered back",
            cost: "monitoring has a gap as long as it is applied; a health check may miss its daemon",
            applied: "cgroup.freeze of the sampler's own service; one that shares its cgroup is only named",
            checked: "cgroup.freeze; samplers started since are new",
            kernels: "5.2 or later, cgroup v2",
            source: "Gerofi et al., SC '21, section 4.2.1: a command that stops counter reads for a job; \
                     Documentation/admin-guide/cgroup-v2.rst, cgroup.freeze",
            usual: false,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let mut frozen: Vec<String> = Vec::new();
        for process in threads::all(split.node).into_iter().filter(|process| NAMES.contains(&process.name.as_str())) {
            let group = threads::group(split.node, process.id).unwrap_or_default();
            let unit = group.rsplit('/').next().unwrap_or_default();
            if !unit.ends_with(".service") || unit.starts_with("user@") {
                proposal.found(format!(
                    "{} ({}) samples, and has no service of its own that could be frozen",
                    process.name, process.id
                ));
            } else if !frozen.contains(&group) {
                proposal.found(format!("{} ({}) samples, as {unit}", process.name, process.id));
                proposal.want_file(split, format!("{GROUPS}{group}/cgroup.freeze"), Form::Text, "1");
                frozen.push(group);
            }
        }
        proposal
    }
}

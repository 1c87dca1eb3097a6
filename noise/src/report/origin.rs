// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The origin of a record in one line, which stands under every figure, on the page and in each file.

use crate::record::About;

/// Kernel arguments that affect noise: a name, or the part of it before an underscore.
const RELEVANT: [&str; 32] = [
    "audit",
    "clocksource",
    "cpufreq",
    "cpuidle",
    "hugepages",
    "idle",
    "intel_idle",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "maxcpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "noirqbalance",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "numa_balancing",
    "preempt",
    "processor",
    "psi",
    "rcu",
    "rcutree",
    "skew_tick",
    "softlockup",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "workqueue",
];

/// Host, kernel with the arguments that affect noise, command, CPUs, time source and version.
pub fn origin(about: &About) -> String {
    let relevant = relevant(&about.kernel_arguments);
    format!(
        "{}: host {}, Linux {}{}, `{}`, CPUs {}, time source {}, tacet {}",
        about.label,
        about.host,
        about.kernel_release,
        if relevant.is_empty() { String::new() } else { format!(" ({relevant})") },
        command(about),
        cpu_list(&about.cpus),
        about.time_source,
        about.version
    )
}

/// The command that measured, quoted for a shell.
pub fn command(about: &About) -> String {
    let plain = |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_=.,/:@".contains(letter));
    let quoted = |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    ["tacet noise".into()].into_iter().chain(about.arguments.iter().map(quoted)).collect::<Vec<_>>().join(" ")
}

/// The arguments that affect noise. A figure has no room for all arguments; the page's table has them.
fn relevant(arguments: &str) -> String {
    let is_relevant = |word: &&str| {
        let name = word.split(['=', '.']).next().unwrap_or(word);
        RELEVANT.iter().any(|one| name == *one || name.strip_prefix(one).is_some_and(|rest| rest.starts_with('_')))
    };
    // Words after `--` are not for the kernel.
    arguments.split_whitespace().take_while(|word| *word != "--").filter(is_relevant).collect::<Vec<_>>().join(" ")
}

/// `0-3,8`.
pub fn cpu_list(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let text = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    });
    text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Method;
    use crate::record::examples::about;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list(&[0, 1, 2, 8]), "0-2,8");
        assert_eq!(cpu_list(&[5]), "5");
        assert_eq!(cpu_list(&[]), "");
    }

    #[test]
    fn arguments_that_affect_noise() {
        let line = "root=/dev/sda quiet nohz_full=1-3 isolcpus=domain,1-3 rcu_nocbs=1-3 processor.max_cstate=1 -- tsc";
        assert_eq!(relevant(line), "nohz_full=1-3 isolcpus=domain,1-3 rcu_nocbs=1-3 processor.max_cstate=1");
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let mut about = about(Method::Fwq, 1);
        about.arguments = ["measure", "--label", "it's mine", "-o", "a.parquet"].map(String::from).to_vec();
        assert_eq!(command(&about), r"tacet noise measure --label 'it'\''s mine' -o a.parquet");
    }

    #[test]
    fn the_origin_has_all_facts() {
        let mut about = about(Method::Fwq, 1);
        about.kernel_arguments = "quiet nohz=off".into();
        let line = origin(&about);
        for word in ["example", "node1", "6.12.0", "(nohz=off)", "`tacet noise measure`", "CPUs 0", "tsc", "tacet 0"] {
            assert!(line.contains(word), "{word}: {line}");
        }
    }
}

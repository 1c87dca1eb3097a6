// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What whole programs that make many calls cost hosted: a part of the bench `forward`.
//!
//! A region begins before the program is started and ends after its end, in a program that is hosted itself: what `tacet
//! run` does before is no part of it. All CPUs count, in any mode, but not their looks. How often threads went to Linux is counted in
//! another run, since counting costs instructions.

use serde::Deserialize;

use crate::Result;
use crate::guest::Guest;
use crate::instructions::region;
use crate::metric::Metrics;

/// Figure, and the words of the command. Their first run reads files that later ones find in memory.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("python", &["/usr/bin/python3", "-c", "pass"]),
    ("gcc", &["gcc", "-c", "-o", "/tmp/forward.o", "/tmp/forward.c"]),
    ("bash", &["bash", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i | cat >/dev/null; done"]),
];
const SOURCE: &str = "printf '#include <stdio.h>\\nint main(void) { return puts(\"a\") < 0; }\\n' >/tmp/forward.c";
const PROFILE: &str = "/tmp/forward.json";
/// How each is hosted: with a part of the figures' names.
const HOSTED: [(&str, &[&str]); 2] = [("", &[]), ("_burst", &["--burst", "auto"])];
/// The emulator takes so long for what a processor does in 100 us that on a busy host any of its bursts would end.
const BURSTS: &str = "echo 500000 >/sys/module/tacet/parameters/burst_us";
/// What a hosted thread does without leaving its core.
const LOCAL: [&str; 4] = ["local-call", "local-wait", "local-fault", "device-call"];

/// A profile of `tacet run`, as far as it is used here.
#[derive(Deserialize)]
struct Profile {
    costs: Vec<Cost>,
}

#[derive(Deserialize)]
struct Cost {
    on: String,
    count: u64,
}

/// Adds the figures. The partition is up.
pub fn whole(guest: &Guest, kernel: &str, metrics: &mut Metrics) -> Result<()> {
    guest.shell(SOURCE)?;
    guest.shell(BURSTS)?;
    let tacet = guest.programs.tacet().display().to_string();
    let around = guest.programs.program("around");
    for (name, command) in PROGRAMS {
        let all = |before: &[&str]| -> Result<f64> {
            let argv = [before, &[around.as_str()], command].concat();
            guest.run(&argv)?;
            guest.run(&argv)?;
            Ok(region(guest.node)?.iter().map(|cpu| cpu.user + cpu.kernel - cpu.looks).sum::<u64>() as f64)
        };
        let native = all(&[])?;
        for (way, options) in HOSTED {
            let run = [&[tacet.as_str(), "run", "--follow"], options].concat();
            let hosted = all(&[&run[..], &["--"]].concat())?;
            let how = format!(
                "`{}`, hosted with all of its processes{}, its second run: instructions of the whole node in any mode, but looks",
                command.join(" "),
                if way.is_empty() { "" } else { ", with `--burst auto` and burst_us 500000" }
            );
            metrics.add(&format!("{name}{way}_ratio_{kernel}"), hosted / native, "ratio", None, &how);
            metrics.add(
                &format!("{name}{way}_instructions_{kernel}"),
                hosted,
                "instructions",
                Some(native),
                &format!("{how}; baseline: on Linux"),
            );
            guest.run(&[&run[..], &["--profile-to", PROFILE, "--"], command].concat())?;
            let handed = hand_overs(&guest.run(&["cat", PROFILE])?)?;
            let how = format!(
                "times that a thread of `{}`{} went from its core to Linux, by its profile",
                command.join(" "),
                if way.is_empty() { "" } else { " with `--burst auto`" }
            );
            metrics.add(&format!("hand_overs_{name}{way}_{kernel}"), handed as f64, "hand-overs", None, &how);
        }
    }
    Ok(())
}

fn hand_overs(profile: &str) -> Result<u64> {
    let profile: Profile = serde_json::from_str(profile)?;
    let away = profile.costs.iter().filter(|cost| !LOCAL.contains(&cost.on.as_str()));
    Ok(away.map(|cost| cost.count).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_core_does_alone_is_no_hand_over() {
        let cost = |on: &str, count: u64| format!("{{\"on\":\"{on}\",\"name\":\"a\",\"count\":{count}}}");
        let costs = [cost("local-call", 7), cost("forwarded-call", 3), cost("fault", 2), cost("local-fault", 9)];
        let text = format!("{{\"threads\":1,\"costs\":[{}]}}", costs.join(","));
        assert_eq!(hand_overs(&text).expect("a profile"), 5);
        assert!(hand_overs("{}").is_err());
    }
}

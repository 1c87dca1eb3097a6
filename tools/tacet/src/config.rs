// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The configuration file: its keys are flag names, its tables are command names.
//!
//! `main` reads it once. The command line wins over the user's file, the user's file over the system's. A key that is
//! not a flag's name is an error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Result};
use tacet_words::values::duration_or_seconds;

use crate::args::{DecoupleArgs, DownArgs, LogArgs, NodeArgs, RecoupleArgs, RunArgs, StaticArgs, UpArgs};

const SYSTEM: &str = "/etc/tacet.toml";

#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    pub json: bool,
    pub up: UpArgs,
    pub down: DownArgs,
    pub run: RunArgs,
    pub job: JobTable,
    pub decouple: DecoupleArgs,
    pub recouple: RecoupleArgs,
    pub log: LogArgs,
    pub node: NodeArgs,
    #[serde(rename = "static")]
    pub static_nodes: StaticArgs,
    /// The other programs of the family read their own tables.
    noise: toml::Table,
    tune: toml::Table,
    sched: toml::Table,
}

/// The table `[job]`: all commands of `tacet job` read it.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct JobTable {
    /// How long CPUs that no job has are kept for the next one; `off` is zero.
    #[serde(deserialize_with = "time")]
    pub keep: Option<Duration>,
}

fn time<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<Option<Duration>, D::Error> {
    let text = String::deserialize(value)?;
    if text == "off" {
        return Ok(Some(Duration::ZERO));
    }
    duration_or_seconds(&text).map(Some).map_err(serde::de::Error::custom)
}

impl Config {
    /// The file `only` must exist. Without it the user's file and the system's are read, if they exist.
    pub fn read(only: Option<&Path>) -> Result<Config> {
        if let Some(path) = only {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|io| Error::io(path.display(), &io, "check --config").with_status(USAGE))?;
            return Config::parse(path, &text);
        }
        let system = Config::read_if_there(Path::new(SYSTEM))?;
        match user_file() {
            Some(path) => Ok(Config::read_if_there(&path)?.or(system)),
            None => Ok(system),
        }
    }

    fn read_if_there(path: &Path) -> Result<Config> {
        match std::fs::read_to_string(path) {
            Ok(text) => Config::parse(path, &text),
            Err(_) => Ok(Config::default()),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Config> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
            let place = format!("{} line {}", path.display(), before.matches('\n').count() + 1);
            let remedy = "keys are the flags' names; see `tacet --help`";
            Error::new(place, error.message(), remedy).with_status(USAGE)
        })
    }

    fn or(self, other: Config) -> Config {
        Config {
            json: self.json || other.json,
            up: self.up.or(other.up),
            down: self.down.or(other.down),
            run: self.run.or(other.run),
            job: JobTable { keep: self.job.keep.or(other.job.keep) },
            decouple: self.decouple.or(other.decouple),
            recouple: self.recouple.or(other.recouple),
            log: self.log.or(other.log),
            node: self.node.or(other.node),
            static_nodes: self.static_nodes.or(other.static_nodes),
            ..Config::default()
        }
    }
}

fn user_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let dir = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(dir.join("tacet.toml"))
}

impl UpArgs {
    pub fn or(self, other: UpArgs) -> UpArgs {
        // Either memory flag overrides both memory flags of a source with lower precedence.
        let silent = self.memory.is_none() && self.numa_memory.is_none();
        UpArgs {
            cpus: self.cpus.or(other.cpus),
            spare: self.spare.or(other.spare),
            memory: self.memory.or(other.memory.filter(|_| silent)),
            numa_memory: self.numa_memory.or(other.numa_memory.filter(|_| silent)),
            mix_users: self.mix_users || other.mix_users,
            image: self.image.or(other.image),
            dry_run: self.dry_run || other.dry_run,
            test_hooks: self.test_hooks || other.test_hooks,
            fail_step: self.fail_step.or(other.fail_step),
        }
    }
}

impl DownArgs {
    pub fn or(self, other: DownArgs) -> DownArgs {
        DownArgs { force: self.force || other.force, dry_run: self.dry_run || other.dry_run }
    }
}

impl RunArgs {
    pub fn or(self, other: RunArgs) -> RunArgs {
        RunArgs {
            cpus: self.cpus.or(other.cpus),
            follow: self.follow || other.follow,
            populate: self.populate || (other.populate && !self.no_populate),
            no_populate: self.no_populate || other.no_populate,
            memory: self.memory.or(other.memory),
            bind: self.bind.or(other.bind),
            undivided: self.undivided || other.undivided,
            no_pico: self.no_pico || other.no_pico,
            burst: self.burst.or(other.burst),
            wait: self.wait,
            profile: self.profile || other.profile,
            profile_to: self.profile_to.or(other.profile_to),
            dry_run: self.dry_run || other.dry_run,
            command: self.command,
        }
    }
}

impl DecoupleArgs {
    pub fn or(self, other: DecoupleArgs) -> DecoupleArgs {
        DecoupleArgs { follow: self.follow || other.follow, dry_run: self.dry_run || other.dry_run, ..self }
    }
}

impl RecoupleArgs {
    pub fn or(self, other: RecoupleArgs) -> RecoupleArgs {
        RecoupleArgs { dry_run: self.dry_run || other.dry_run, ..self }
    }
}

impl LogArgs {
    pub fn or(self, other: LogArgs) -> LogArgs {
        LogArgs { follow: self.follow || other.follow }
    }
}

impl NodeArgs {
    pub fn or(self, other: NodeArgs) -> NodeArgs {
        NodeArgs {
            kernel: self.kernel.or(other.kernel),
            cpus: self.cpus.or(other.cpus),
            memory: self.memory.or(other.memory),
            boot_arguments: self.boot_arguments.or(other.boot_arguments),
            accel: self.accel.or(other.accel),
            timeout: self.timeout.or(other.timeout),
        }
    }
}

impl StaticArgs {
    pub fn or(self, other: StaticArgs) -> StaticArgs {
        StaticArgs {
            cpus: self.cpus.or(other.cpus),
            service_cpu: self.service_cpu || other.service_cpu,
            node_memory: self.node_memory.or(other.node_memory),
            machine: self.machine.or(other.machine),
            link: self.link.or(other.link),
            card: self.card.or(other.card),
            accel: self.accel.or(other.accel),
            image: self.image.or(other.image),
            qemu: self.qemu.or(other.qemu),
            emulator_arguments: self.emulator_arguments,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacet_words::describe::Described;

    fn parse(text: &str) -> Result<Config> {
        Config::parse(Path::new("/etc/tacet.toml"), text)
    }

    #[test]
    fn keys_are_the_flags_names() {
        let config = parse("json = true\n[up]\ncpus = '2-3'\nnuma-memory = '0=1G'\n[run]\npopulate = true\n").unwrap();
        assert!(config.json && config.run.populate && !config.run.follow);
        assert_eq!(config.up.cpus.as_deref(), Some("2-3"));
        assert_eq!(config.up.numa_memory.as_deref(), Some("0=1G"));
        let near = parse("[job]\nkeep = 'off'\n").unwrap().or(parse("[job]\nkeep = '2m'\n").unwrap());
        assert_eq!(near.job.keep, Some(Duration::ZERO));
    }

    /// Each key of the example, as if it were not a comment.
    #[test]
    fn the_example_is_right() {
        let example = include_str!("../../../packaging/tacet.toml");
        let set: Vec<&str> = example
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
            .collect();
        assert!(set.len() > 20 && parse(&set.join("\n")).is_ok(), "{:?}", parse(&set.join("\n")).err());
    }

    /// Each flag that help names is a key and reaches the command, unless it belongs to one call.
    #[test]
    fn each_flag_of_a_command_is_a_key_that_counts() {
        const OF_ONE_CALL: [&str; 3] = ["cpu", "thread", "force"];
        let mut keys = 0;
        let described = Described::of(&crate::args::described());
        for table in ["up", "down", "run", "decouple", "recouple", "log"] {
            let command = described.commands.iter().find(|command| command.name == table).unwrap();
            let own = command.flags.iter().filter(|flag| flag.long.is_some() && !flag.global);
            for flag in own.filter(|flag| table != "decouple" || !OF_ONE_CALL.contains(&flag.id.as_str())) {
                let long = flag.long.as_deref().unwrap();
                if [("recouple", "thread"), ("run", "wait")].contains(&(table, long)) {
                    continue;
                }
                let value = match flag.value.first().map(String::as_str) {
                    None => "true",
                    Some("SIZE") => "'1G'",
                    Some("WHOSE") => "'linux'",
                    Some("WHEN") => "'auto'",
                    Some(_) => "'2-3'",
                };
                let saved = parse(&format!("[{table}]\n{long} = {value}\n")).unwrap();
                let shown = format!("{saved:?}");
                assert_ne!(shown, format!("{:?}", Config::default()), "{table}: {long}");
                assert_eq!(format!("{:?}", Config::default().or(saved)), shown, "{table}: {long} is lost");
                keys += 1;
            }
        }
        assert!(keys > 15, "{keys}");
    }

    #[test]
    fn mistakes_name_file_and_line() {
        for (text, line) in [
            ("[up]\ncpu = '2'\n", 2),
            ("json = 1\n", 1),
            ("[run]\n\npid = 4\n", 3),
            ("[[", 1),
            ("[job]\nkeep = 'soon'\n", 2),
        ] {
            let error = parse(text).err().unwrap();
            assert!(error.to_string().starts_with(&format!("/etc/tacet.toml line {line}: ")), "{error}");
            assert_eq!(error.status(), 2);
        }
    }

    #[test]
    fn the_nearer_place_wins() {
        let near = parse("[up]\nmemory = '1G'\n[log]\nfollow = true\n").unwrap();
        let far = parse("[up]\ncpus = '4'\nnuma-memory = '0=2G'\n[node]\nkernel = '7'\n").unwrap();
        let both = near.or(far);
        assert_eq!(both.up.memory.as_deref(), Some("1G"));
        assert_eq!(both.up.numa_memory, None);
        assert_eq!(both.up.cpus.as_deref(), Some("4"));
        assert_eq!(both.node.kernel.as_deref(), Some("7"));
        assert!(both.log.follow);
    }
}

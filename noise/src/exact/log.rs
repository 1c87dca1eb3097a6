// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the plugin's log; `exact/plugin/record.c` defines its format.

use crate::Result;

/// The most instructions of a translated block. The plugin counts a block when it begins; if it is interrupted there,
/// it begins again and is counted twice.
const BLOCK: u64 = 64;

/// The quanta of one measured CPU.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Quanta {
    pub cpu: u32,
    pub quanta: u64,
    /// Instructions of the program in each quantum that is not in `hits`.
    pub user: u64,
    /// Quanta in which the CPU executed other code too.
    pub hits: Vec<Hit>,
    /// Kernel code that this CPU executed while it was measured.
    pub sites: Vec<Site>,
    /// The entries into the kernel.
    pub entries: Vec<Entry>,
    /// Other programs that ran.
    pub others: Vec<Other>,
}

/// A quantum in which the CPU executed code besides the program's.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Hit {
    pub index: u64,
    /// Instructions of the program.
    pub user: u64,
    /// Instructions of other programs.
    pub other: u64,
    /// Instructions outside user mode.
    pub kernel: u64,
    pub entries: u64,
    pub interrupts: u64,
    pub exceptions: u64,
    /// Address of the first entry into the kernel.
    pub first: u64,
}

/// A block of kernel code.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    pub address: u64,
    pub times: u64,
    pub instructions: u64,
}

/// An entry point of the kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub address: u64,
    pub times: u64,
    /// Instructions of the kernel from this entry until it returned to user mode.
    pub instructions: u64,
}

/// A program other than the measured one.
#[derive(Debug, Clone, PartialEq)]
pub struct Other {
    /// None if the emulator cannot tell.
    pub name: Option<String>,
    pub pid: u32,
    /// How often the kernel switched the CPU to it.
    pub turns: u64,
    pub instructions: u64,
}

/// Instructions and interrupts of one CPU in a region.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Counts {
    pub user: u64,
    pub kernel: u64,
    /// Of `kernel`: in loops with a PAUSE.
    pub looks: u64,
    pub interrupts: u64,
    /// Kernel code that the CPU executed, if the plugin was to list it (`sites=on`).
    pub sites: Vec<Site>,
}

/// What one CPU executed in one step of a region.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Step {
    pub kernel: u64,
    /// Of `kernel`: in blocks with a PAUSE.
    pub looks: u64,
    /// Switches of tasks by Linux.
    pub switches: u64,
    /// HLT of a module of Linux.
    pub halts: u64,
    pub interrupts: u64,
}

/// The contents of a log, in order.
#[derive(Debug, Default, PartialEq)]
pub struct Log {
    /// The emulator's version of the plugin interface.
    pub interface: u64,
    /// Whether this emulator reports interrupts; entries from user mode are counted in any case.
    pub sees_interrupts: bool,
    pub quanta: Vec<Quanta>,
    /// Label, and the counts by CPU.
    pub regions: Vec<(u32, Vec<Counts>)>,
    /// Of the newest region with steps: each step, by CPU.
    pub steps: Vec<Vec<Step>>,
}

impl Quanta {
    /// Fails unless the log has this number of quanta on this CPU, each with the same work of at least this many
    /// instructions: a plugin that failed to count must not pass.
    pub fn check(&self, quanta: u64, instructions: u64, cpu: u32) -> Result<()> {
        if self.quanta != quanta || self.cpu != cpu {
            return Err(format!("the plugin saw {} quanta on cpu {}", self.quanta, self.cpu).into());
        }
        if self.user < instructions {
            return Err(format!("the plugin counted only {} instructions in a quantum", self.user).into());
        }
        let recounted = |hit: &Hit| hit.user.checked_sub(self.user).is_some_and(|more| more <= BLOCK * hit.entries);
        match self.hits.iter().find(|hit| !recounted(hit) || hit.index >= quanta) {
            Some(hit) => {
                let (index, user) = (hit.index, hit.user);
                Err(format!("quantum {index} executed {user} instructions of the program, not {}", self.user).into())
            }
            None => Ok(()),
        }
    }
}

/// A line of the plugin: what is missing or no number counts as 0.
struct Words<'a>(Vec<&'a str>);

impl Words<'_> {
    /// The number behind this name.
    fn count(&self, name: &str) -> u64 {
        let place = self.0.iter().position(|word| *word == name);
        place.map_or(0, |place| self.number(place + 1))
    }

    fn number(&self, place: usize) -> u64 {
        self.0.get(place).and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    fn address(&self, place: usize) -> u64 {
        self.0.get(place).and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0)
    }

    fn step(&self) -> Step {
        Step {
            kernel: self.count("kernel"),
            looks: self.count("looks"),
            switches: self.count("switches"),
            halts: self.count("halts"),
            interrupts: self.count("interrupts"),
        }
    }

    fn hit(&self) -> Hit {
        Hit {
            index: self.number(1),
            user: self.count("user"),
            other: self.count("other"),
            kernel: self.count("kernel"),
            entries: self.count("entries"),
            interrupts: self.count("interrupts"),
            exceptions: self.count("exceptions"),
            first: self.address(self.0.len().saturating_sub(1)),
        }
    }
}

impl Log {
    /// The first step of a region replaces those of the region before.
    fn add_step(&mut self, index: u64, cpu: u64, step: Step) {
        if cpu == 0 {
            if index == 0 {
                self.steps.clear();
            }
            self.steps.push(Vec::new());
        }
        self.steps.last_mut().into_iter().for_each(|cpus| cpus.push(step));
    }

    /// Skips lines that are not from the plugin: the emulator may log too.
    pub fn parse(text: &str) -> Log {
        let mut log = Log::default();
        let mut open: Option<Quanta> = None;
        for line in text.lines() {
            let words = Words(line.split_whitespace().collect());
            let (count, number) = (|name| words.count(name), |place| words.number(place));
            match words.0.first().copied() {
                Some("tacet-count") => {
                    log.interface = count("interface");
                    log.sees_interrupts = count("interrupts") == 1;
                }
                Some("fwq") => {
                    open = Some(Quanta {
                        cpu: number(1) as u32,
                        quanta: count("quanta"),
                        user: count("user"),
                        ..Quanta::default()
                    });
                }
                Some("hit") => open.iter_mut().for_each(|quanta| quanta.hits.push(words.hit())),
                Some("at") => {
                    let site =
                        Site { address: words.address(1), times: count("times"), instructions: count("instructions") };
                    match &mut open {
                        Some(quanta) => quanta.sites.push(site),
                        None => {
                            let cpu = log.regions.last_mut().and_then(|(_, cpus)| cpus.last_mut());
                            cpu.into_iter().for_each(|cpu| cpu.sites.push(site.clone()));
                        }
                    }
                }
                Some("entry") => {
                    let (times, instructions) = (count("times"), count("instructions"));
                    let entry = Entry { address: words.address(1), times, instructions };
                    open.iter_mut().for_each(|quanta| quanta.entries.push(entry.clone()));
                }
                Some("other") => {
                    let name =
                        line.split_once(" name ").map(|(_, name)| name.to_owned()).filter(|name| !name.is_empty());
                    let (pid, turns) = (number(1) as u32, count("turns"));
                    let other = Other { name, pid, turns, instructions: count("instructions") };
                    open.iter_mut().for_each(|quanta| quanta.others.push(other.clone()));
                }
                Some("step") => log.add_step(number(1), count("cpu"), words.step()),
                Some("end") => log.quanta.extend(open.take()),
                Some("region") => {
                    let counts = Counts {
                        user: count("user"),
                        kernel: count("kernel"),
                        looks: count("looks"),
                        interrupts: count("interrupts"),
                        sites: Vec::new(),
                    };
                    if count("cpu") == 0 {
                        log.regions.push((number(1) as u32, Vec::new()));
                    }
                    if let Some((_, cpus)) = log.regions.last_mut() {
                        cpus.push(counts);
                    }
                }
                _ => (),
            }
        }
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_log() {
        let log = Log::parse(
            "noise\ntacet-count interface 7 cpus 2 interrupts 1\n\
             fwq 3 0 quanta 10 user 40015\nhit 2 user 40015 other 5 kernel 23 entries 1 interrupts 1 exceptions 0 first ffffffffc0001980\n\
             at ffffffffc0001980 times 1 instructions 9\nentry ffffffffc0001980 times 2 instructions 23\n\
             other 17 turns 1 instructions 4 name a name\nother 0 turns 1 instructions 1 name \nend 3\n\
             region 1 cpu 0 user 5 kernel 6 looks 2 interrupts 7\nregion 1 cpu 1 user 8 kernel 9 interrupts 0\n\
             at ffffffffc0001980 times 3 instructions 3\n",
        );
        assert!(log.sees_interrupts);
        let quanta = &log.quanta[0];
        assert_eq!((quanta.cpu, quanta.quanta, quanta.user), (3, 10, 40015));
        assert_eq!(
            quanta.hits[0],
            Hit {
                index: 2,
                user: 40015,
                other: 5,
                kernel: 23,
                entries: 1,
                interrupts: 1,
                exceptions: 0,
                first: 0xffff_ffff_c000_1980
            }
        );
        assert_eq!(quanta.sites[0], Site { address: 0xffffffffc0001980, times: 1, instructions: 9 });
        assert_eq!(quanta.entries, [Entry { address: 0xffffffffc0001980, times: 2, instructions: 23 }]);
        let named = Other { name: Some("a name".into()), pid: 17, turns: 1, instructions: 4 };
        assert_eq!(quanta.others, [named, Other { name: None, pid: 0, turns: 1, instructions: 1 }]);
        assert_eq!(
            log.regions,
            [(
                1,
                vec![
                    Counts { user: 5, kernel: 6, looks: 2, interrupts: 7, sites: vec![] },
                    Counts {
                        user: 8,
                        kernel: 9,
                        looks: 0,
                        interrupts: 0,
                        sites: vec![Site { address: 0xffffffffc0001980, times: 3, instructions: 3 }]
                    }
                ]
            )]
        );
    }

    #[test]
    fn the_steps_are_those_of_the_newest_region() {
        let log = Log::parse(
            "step 0 cpu 0 kernel 1 looks 0 switches 0 halts 0 interrupts 0\n\
             region 1 cpu 0 user 1 kernel 1 interrupts 0\n\
             step 0 cpu 0 kernel 9 looks 2 switches 1 halts 3 interrupts 4\n\
             step 0 cpu 1 kernel 8 looks 0 switches 0 halts 0 interrupts 0\n\
             step 1 cpu 0 kernel 7 looks 0 switches 0 halts 0 interrupts 0\n",
        );
        assert_eq!(log.steps.len(), 2);
        assert_eq!(log.steps[0][0], Step { kernel: 9, looks: 2, switches: 1, halts: 3, interrupts: 4 });
        assert_eq!((log.steps[0][1].kernel, log.steps[1][0].kernel), (8, 7));
    }

    #[test]
    fn a_dead_or_wrong_plugin_does_not_pass() {
        let checked = |change: fn(&mut Quanta)| {
            let hits = vec![Hit { index: 1, user: 200_000, kernel: 23, entries: 1, ..Hit::default() }];
            let mut quanta = Quanta { cpu: 3, quanta: 10_000, user: 200_000, hits, ..Quanta::default() };
            change(&mut quanta);
            quanta.check(10_000, 200_000, 3)
        };
        assert!(checked(|_| ()).is_ok());
        assert!(checked(|q| q.quanta = 9_999).is_err());
        assert!(checked(|q| q.cpu = 0).is_err());
        assert!(checked(|q| q.user = 1).is_err());
        assert!(checked(|q| q.hits[0].index = 10_000).is_err());
        assert!(checked(|q| q.hits[0].user -= 1).is_err());
        assert!(checked(|q| q.hits[0].user += BLOCK).is_ok(), "a block that was interrupted at its start");
        assert!(checked(|q| q.hits[0].user += BLOCK + 1).is_err());
    }

    #[test]
    fn a_record_without_its_end_is_skipped() {
        assert!(Log::parse("fwq 3 0 quanta 10 user 4\nhit 2 user 4 kernel 1\n").quanta.is_empty());
    }
}

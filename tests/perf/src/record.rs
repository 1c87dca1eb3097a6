// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads what the plugin wrote; `plugin/record.c` owns the words.

/// The quanta of one measured CPU.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Quanta {
    pub cpu: u32,
    pub quanta: u64,
    /// Instructions in user mode in each quantum that is not in `hits`.
    pub user: u64,
    /// Quanta in which something else happened.
    pub hits: Vec<Hit>,
    /// Kernel code executed on that CPU while it was measured.
    pub sites: Vec<Site>,
}

/// A quantum that was not only the program's.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Hit {
    pub index: u64,
    pub user: u64,
    pub kernel: u64,
    pub entries: u64,
    pub interrupts: u64,
    pub exceptions: u64,
    /// Where kernel code was entered first.
    pub first: u64,
}

/// A block of kernel code.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    pub address: u64,
    pub times: u64,
    pub instructions: u64,
}

/// What one CPU executed in a region.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Counts {
    pub user: u64,
    pub kernel: u64,
    pub interrupts: u64,
}

/// Everything in a log, in order.
#[derive(Debug, Default, PartialEq)]
pub struct Log {
    /// Whether this emulator reports interrupts; entries from user mode are counted in any case.
    pub sees_interrupts: bool,
    pub quanta: Vec<Quanta>,
    /// Label, and the counts by CPU.
    pub regions: Vec<(u32, Vec<Counts>)>,
}

impl Log {
    /// Lines that are none of the plugin's are skipped: the emulator may log too.
    pub fn parse(text: &str) -> Log {
        let mut log = Log::default();
        let mut open: Option<Quanta> = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let of = |name: &str| words.iter().position(|w| *w == name).and_then(|i| words.get(i + 1)?.parse().ok());
            let count = |name: &str| of(name).unwrap_or(0);
            let number = |i: usize| words.get(i).and_then(|w| w.parse().ok()).unwrap_or(0);
            match words.first().copied() {
                Some("tacet-count") => log.sees_interrupts = count("interrupts") == 1,
                Some("fwq") => {
                    open = Some(Quanta {
                        cpu: number(1) as u32,
                        quanta: count("quanta"),
                        user: count("user"),
                        ..Quanta::default()
                    });
                }
                Some("hit") => {
                    if let Some(quanta) = &mut open {
                        quanta.hits.push(Hit {
                            index: number(1),
                            user: count("user"),
                            kernel: count("kernel"),
                            entries: count("entries"),
                            interrupts: count("interrupts"),
                            exceptions: count("exceptions"),
                            first: words.last().and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(0),
                        });
                    }
                }
                Some("at") => {
                    let address = words.get(1).and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(0);
                    let site = Site { address, times: count("times"), instructions: count("instructions") };
                    if let Some(quanta) = &mut open {
                        quanta.sites.push(site);
                    }
                }
                Some("end") => log.quanta.extend(open.take()),
                Some("region") => {
                    let counts =
                        Counts { user: count("user"), kernel: count("kernel"), interrupts: count("interrupts") };
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
             fwq 3 0 quanta 10 user 40015\nhit 2 user 40015 kernel 23 entries 1 interrupts 1 exceptions 0 first ffffffffc0001980\n\
             at ffffffffc0001980 times 1 instructions 9\nend 3\n\
             region 1 cpu 0 user 5 kernel 6 interrupts 7\nregion 1 cpu 1 user 8 kernel 9 interrupts 0\n",
        );
        assert!(log.sees_interrupts);
        let quanta = &log.quanta[0];
        assert_eq!((quanta.cpu, quanta.quanta, quanta.user), (3, 10, 40015));
        assert_eq!(
            quanta.hits[0],
            Hit {
                index: 2,
                user: 40015,
                kernel: 23,
                entries: 1,
                interrupts: 1,
                exceptions: 0,
                first: 0xffff_ffff_c000_1980
            }
        );
        assert_eq!(quanta.sites[0], Site { address: 0xffffffffc0001980, times: 1, instructions: 9 });
        assert_eq!(
            log.regions,
            [(1, vec![Counts { user: 5, kernel: 6, interrupts: 7 }, Counts { user: 8, kernel: 9, interrupts: 0 }])]
        );
    }

    #[test]
    fn a_record_without_its_end_is_none() {
        assert!(Log::parse("fwq 3 0 quanta 10 user 4\nhit 2 user 4 kernel 1\n").quanta.is_empty());
    }
}

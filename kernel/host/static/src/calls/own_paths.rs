// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Paths that lead to the node's own files (`own_files.rs`), by whichever call, and to what the proxy's Linux has about
//! its own CPUs and memory, which is not there for a program of a node.
//!
//! The calls with a path come here before they are shipped. A path from a directory counts by where it leads: its directory is
//! asked of the proxy, if the path has a word of such files at all.

use crate::base::{StaticHost, Subject};
use crate::ship::memory::KernelText;
use crate::ship::result;
use core::cell::RefCell;
use core::sync::atomic::Ordering;
use tacet_logic::text::Text;
use tacet_wire::calls::number;
use tacet_wire::errno::Errno;
use tacet_wire::marshal::UserMemory;

/// No path to these files is longer.
const PATH_BYTES: usize = 128;
/// AT_FDCWD and AT_SYMLINK_NOFOLLOW
const HERE: i32 = -100;
const NOT_THROUGH_LINKS: u64 = 0x100;

/// A file of the node's own.
#[derive(Clone, Copy)]
pub enum File {
    Map,
    Maps,
    Cpus,
    CpuInformation,
    /// The nodes of the node's memory: it is one.
    MemoryNodes,
}

/// Where a path leads.
#[derive(Clone, Copy)]
pub enum Place {
    Executable,
    File(File),
    /// To another node's CPUs or memory.
    Elsewhere,
}

/// Components of paths that may lead to such a place; those of CPUs have numbers behind.
const WORDS: [&[u8]; 7] = [b"cpu", b"node", b"cpuinfo", b"exe", b"map", b"maps", b"online"];
const ELSEWHERE: [&[u8]; 4] =
    [b"/sys/devices/system/cpu", b"/sys/devices/system/node", b"/sys/bus/cpu", b"/sys/bus/node"];

/// A path without empty components, `.` and `..`.
struct Path {
    bytes: [u8; PATH_BYTES],
    used: usize,
}

impl Path {
    /// `None`: it is too long.
    fn join(&mut self, name: &[u8]) -> Option<()> {
        for part in name.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => self.used = self.text().iter().rposition(|byte| *byte == b'/').unwrap_or(0),
                part => {
                    for byte in [b"/", part].into_iter().flatten() {
                        *self.bytes.get_mut(self.used)? = *byte;
                        self.used += 1;
                    }
                }
            }
        }
        Some(())
    }

    fn text(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or(&[])
    }
}

/// Memory with a text of the kernel in place of a path.
struct Replaced<'a, M> {
    text: &'a [u8],
    memory: &'a M,
}

impl<M: UserMemory> UserMemory for Replaced<'_, M> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        let kernels = (KernelText::AT..2 * KernelText::AT).contains(&address);
        if kernels { KernelText(self.text).read(address, to) } else { self.memory.read(address, to) }
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        self.memory.write(address, from)
    }

    fn is_writable(&self, address: u64, bytes: usize) -> bool {
        self.memory.is_writable(address, bytes)
    }
}

/// The memory that a question's answer comes to.
struct Answer(RefCell<[u8; PATH_BYTES]>);

impl UserMemory for Answer {
    fn read(&self, _: u64, _: &mut [u8]) -> Option<()> {
        None
    }

    fn write(&self, _: u64, from: &[u8]) -> Option<()> {
        self.0.borrow_mut().get_mut(..from.len())?.copy_from_slice(from);
        Some(())
    }

    fn is_writable(&self, _: u64, bytes: usize) -> bool {
        bytes <= PATH_BYTES
    }
}

impl StaticHost {
    pub fn stat(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::STAT, 0, arguments)
    }

    pub fn lstat(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::LSTAT, 0, arguments)
    }

    pub fn access(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::ACCESS, 0, arguments)
    }

    pub fn chdir(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::CHDIR, 0, arguments)
    }

    pub fn newfstatat(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::NEWFSTATAT, 1, arguments)
    }

    pub fn faccessat(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::FACCESSAT, 1, arguments)
    }

    pub fn faccessat2(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::FACCESSAT2, 1, arguments)
    }

    pub fn statx(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.other_door(subject, number::STATX, 1, arguments)
    }

    /// A call about a path in the argument `at`, behind its directory if it has one, that opens nothing. The program and the
    /// node's map are asked about under names that the proxy's Linux has.
    fn other_door(
        &self,
        subject: &Subject<'_>,
        number: u64,
        at: usize,
        arguments: &[u64; 6],
    ) -> Option<Result<u64, Errno>> {
        let [directory, _, third, fourth, ..] = *arguments;
        let flags = match number {
            number::LSTAT => NOT_THROUGH_LINKS,
            number::NEWFSTATAT => fourth,
            number::STATX => third,
            _ => 0,
        };
        let program = self.node.program.with(|program| *program);
        let text = match self.place(subject, (at > 0).then_some(directory), *arguments.get(at)?)? {
            Place::Elsewhere => return Some(Err(Errno::ENOENT)),
            Place::Executable if flags & NOT_THROUGH_LINKS == 0 => program.text(),
            Place::File(File::Map) => b"/proc/self/maps\0",
            Place::Executable | Place::File(_) => return None,
        };
        let mut asked = *arguments;
        *asked.get_mut(at)? = KernelText::AT;
        Some(result(self.ship(subject, number, &asked, &Replaced { text, memory: &subject.memory })))
    }

    /// Where a path leads from a directory: a descriptor, or none for the working directory. `None`: to no such place.
    pub fn place(&self, subject: &Subject<'_>, directory: Option<u64>, path: u64) -> Option<Place> {
        let mut name = [0; PATH_BYTES];
        let bytes = subject.memory.read_text(path, &mut name)?;
        let name = name.get(..bytes)?;
        let mut path = Path { bytes: [0; PATH_BYTES], used: 0 };
        if name.first() != Some(&b'/') {
            let has_word = |part: &[u8]| WORDS.contains(&part.trim_ascii_end()) || part.starts_with(b"cpu");
            if !name.split(|byte| *byte == b'/').any(has_word) {
                return None;
            }
            path.join(self.directory(subject, directory.map_or(HERE, |descriptor| descriptor as i32))?.text())?;
        }
        path.join(name)?;
        self.lead(subject, path.text())
    }

    fn lead(&self, subject: &Subject<'_>, path: &[u8]) -> Option<Place> {
        let file = match path {
            b"/proc/cpuinfo" => Some(File::CpuInformation),
            b"/sys/devices/system/cpu/online"
            | b"/sys/devices/system/cpu/possible"
            | b"/sys/devices/system/cpu/present" => Some(File::Cpus),
            b"/sys/devices/system/node/online"
            | b"/sys/devices/system/node/possible"
            | b"/sys/devices/system/node/has_cpu"
            | b"/sys/devices/system/node/has_memory"
            | b"/sys/devices/system/node/has_normal_memory" => Some(File::MemoryNodes),
            _ => None,
        };
        if let Some(file) = file {
            return Some(Place::File(file));
        }
        let is_under =
            |top: &&[u8]| path.strip_prefix(*top).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        if ELSEWHERE.iter().any(is_under) {
            return Some(Place::Elsewhere);
        }
        match of_process(subject, path)? {
            b"/exe" => Some(Place::Executable),
            b"/map" => Some(Place::File(File::Map)),
            b"/maps" => Some(Place::File(File::Maps)),
            _ => None,
        }
    }

    /// Where a directory of the program is, as the proxy's Linux says.
    fn directory(&self, subject: &Subject<'_>, descriptor: i32) -> Option<Path> {
        let text = match descriptor {
            HERE => Text::<32>::format(format_args!("/proc/self/cwd\0")),
            descriptor => Text::format(format_args!("/proc/self/fd/{descriptor}\0")),
        };
        let answer = Answer(RefCell::new([0; PATH_BYTES]));
        let asked = Replaced { text: text.as_bytes(), memory: &answer };
        let arguments = [KernelText::AT, 2 * KernelText::AT, PATH_BYTES as u64, 0, 0, 0];
        let used = result(self.ship(subject, number::READLINK, &arguments, &asked)).ok()?;
        let mut path = Path { bytes: [0; PATH_BYTES], used: 0 };
        path.join(answer.0.into_inner().get(..usize::try_from(used).ok()?)?)?;
        Some(path)
    }
}

/// The rest of a path behind the process's own directory, which has two names: realpath(3) finds the one and continues with
/// the other.
fn of_process<'a>(subject: &Subject<'_>, name: &'a [u8]) -> Option<&'a [u8]> {
    let own = subject.thread.process_id.load(Ordering::Relaxed);
    let number = Text::<12>::format(format_args!("{own}"));
    let rest = name.strip_prefix(b"/proc/")?;
    rest.strip_prefix(b"self").or_else(|| rest.strip_prefix(number.as_bytes()))
}

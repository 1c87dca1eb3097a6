// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that tell of the process or of the node, where the proxy's would tell of another: opened here by name, made as
//! memory files of the proxy, so that every call on their descriptors is Linux's own.
//!
//! Calls that open or read a path come here before they are shipped; `own_paths.rs` says where it leads.

use super::own_paths::{File, Place};
use crate::base::{StaticHost, Subject};
use crate::ship::memory::KernelText;
use crate::ship::result;
use core::arch::x86_64::__cpuid;
use core::fmt::{self, Write};
use core::ops::Range;
use tacet_arch::Processor;
use tacet_logic::paging::Protection;
use tacet_logic::static_map::Part;
use tacet_logic::text::Text;
use tacet_wire::calls::number;
use tacet_wire::errno::Errno;

/// memfd_create(2): closed when a program is executed. No program of a node executes another one.
const CLOSED_AT_EXEC: u64 = 1;
const LINE_BYTES: usize = 512;

/// A memory file of the proxy that is being written.
struct Written<'a> {
    host: &'a StaticHost,
    subject: &'a Subject<'a>,
    descriptor: u64,
    line: [u8; LINE_BYTES],
    used: usize,
}

impl StaticHost {
    /// This and the next three: `None` if the call is not about such a file.
    pub fn open(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [path, flags, mode, ..] = *arguments;
        self.open_own(subject, self.place(subject, None, path)?, [flags, mode])
    }

    pub fn openat(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [directory, path, flags, mode, ..] = *arguments;
        self.open_own(subject, self.place(subject, Some(directory), path)?, [flags, mode])
    }

    /// openat2(2), whose flags and mode begin a structure.
    pub fn openat2(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [directory, path, how, ..] = *arguments;
        let place = self.place(subject, Some(directory), path)?;
        let word = |at| subject.memory.read_u64(at);
        self.open_own(subject, place, [word(how)?, word(how.wrapping_add(8))?])
    }

    pub fn readlink(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [path, to, bytes, ..] = *arguments;
        self.read_own_link(subject, self.place(subject, None, path)?, [to, bytes])
    }

    pub fn readlinkat(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [directory, path, to, bytes, ..] = *arguments;
        self.read_own_link(subject, self.place(subject, Some(directory), path)?, [to, bytes])
    }

    fn open_own(&self, subject: &Subject<'_>, place: Place, rest: [u64; 2]) -> Option<Result<u64, Errno>> {
        Some(match place {
            Place::Executable => self.open_executable(subject, rest),
            Place::File(file) => self.make_file(subject, file),
            Place::Elsewhere => Err(Errno::ENOENT),
        })
    }

    fn read_own_link(&self, subject: &Subject<'_>, place: Place, rest: [u64; 2]) -> Option<Result<u64, Errno>> {
        match place {
            Place::Executable => Some(self.read_executable(subject, rest)),
            Place::File(_) => None,
            Place::Elsewhere => Some(Err(Errno::ENOENT)),
        }
    }

    fn make_file(&self, subject: &Subject<'_>, file: File) -> Result<u64, Errno> {
        let name = KernelText(b"tacet\0");
        let arguments = [KernelText::AT, CLOSED_AT_EXEC, 0, 0, 0, 0];
        let descriptor = result(self.ship(subject, number::MEMFD_CREATE, &arguments, &name))?;
        let mut written = Written { host: self, subject, descriptor, line: [0; LINE_BYTES], used: 0 };
        let done = match file {
            File::Map => self.write_map(&mut written),
            File::Maps => self.write_maps(&mut written),
            File::Cpus => writeln!(written, "{}", List(self.node.program_cpus())),
            File::MemoryNodes => writeln!(written, "0"),
            File::CpuInformation => self.write_cpu_information(&mut written),
        };
        if done.and_then(|()| written.flush()).is_err() {
            self.ship_call(subject, number::CLOSE, &[descriptor, 0, 0, 0, 0, 0]);
            return Err(Errno::EIO);
        }
        result(self.ship_call(subject, number::LSEEK, &[descriptor, 0, 0, 0, 0, 0])).map(|_| descriptor)
    }

    /// The static map. It never changes, so it is made line by line: no lock is held while a line is shipped.
    fn write_map(&self, to: &mut Written<'_>) -> fmt::Result {
        let process = to.subject.thread.process();
        for number in 0.. {
            let run = self.node.map.with(|map| {
                let runs = map.segments(process).flat_map(|segment| segment.runs().map(move |run| (segment, run)));
                runs.into_iter().nth(number)
            });
            let Some((segment, run)) = run else { break };
            let page = 4096u64 << run.page.order();
            let (rights, name) = (Rights(segment.protection), segment.part.name());
            let (from, physical) = (run.virtual_address, run.physical_address);
            writeln!(to, "{from:#x} {physical:#x} {} {page} {rights} {name}", run.bytes)?;
        }
        Ok(())
    }

    /// The memory that has addresses now, as Linux writes it.
    fn write_maps(&self, to: &mut Written<'_>) -> fmt::Result {
        let process = to.subject.thread.process();
        let program = self.node.program.with(|program| *program);
        let program = core::str::from_utf8(program.path()).unwrap_or("");
        for below in [true, false] {
            if !below {
                self.write_heap(to)?;
            }
            for number in 0.. {
                let segment = self.node.map.with(|map| map.segments(process).nth(number));
                let Some(segment) = segment else { break };
                let name = match segment.part {
                    Part::Heap => continue,
                    Part::Text | Part::ReadOnlyData | Part::Data => program,
                    Part::Shared => "[shared]",
                    _ => "[linker]",
                };
                let heap = to.subject.process.memory.with(|layout| layout.heap.start);
                if (segment.virtual_address < heap) == below {
                    let end = segment.virtual_address + segment.bytes;
                    write_mapping(to, segment.virtual_address, end, segment.protection, name)?;
                }
            }
        }
        Ok(())
    }

    fn write_heap(&self, to: &mut Written<'_>) -> fmt::Result {
        for number in 0.. {
            let (mapping, heap) =
                to.subject.process.memory.with(|layout| (layout.mappings().nth(number), layout.heap.clone()));
            let Some(mapping) = mapping else { break };
            let end = mapping.address + mapping.bytes;
            let name = match () {
                () if mapping.address == heap.start => "[heap]",
                () if end == heap.end => "[stack]",
                () => "",
            };
            write_mapping(to, mapping.address, end, mapping.protection, name)?;
        }
        Ok(())
    }

    fn write_cpu_information(&self, to: &mut Written<'_>) -> fmt::Result {
        let vendor = __cpuid(0);
        let vendor = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        let brand = [0x8000_0002, 0x8000_0003, 0x8000_0004].map(|leaf| {
            let brand = __cpuid(leaf);
            [brand.eax, brand.ebx, brand.ecx, brand.edx].map(u32::to_le_bytes)
        });
        let text = |bytes: &'_ [u8]| Text::<48>::format(format_args!("{}", Ascii(bytes)));
        let (vendor, brand) = (text(vendor.as_flattened()), text(brand.as_flattened().as_flattened()));
        let (vendor, brand) = (Ascii(vendor.as_bytes()), Ascii(brand.as_bytes()));
        let mhz = self.cpu.cycles_per_ms() / 1000;
        let cpus = self.node.program_cpus();
        for cpu in cpus.clone() {
            writeln!(to, "processor\t: {cpu}\nvendor_id\t: {vendor}\nmodel name\t: {brand}\ncpu MHz\t\t: {mhz}.000")?;
            writeln!(to, "physical id\t: 0\ncore id\t\t: {cpu}\ncpu cores\t: {}\n", cpus.len())?;
        }
        Ok(())
    }

    fn open_executable(&self, subject: &Subject<'_>, [flags, mode]: [u64; 2]) -> Result<u64, Errno> {
        let program = self.node.program.with(|program| *program);
        let text = KernelText(program.text());
        result(self.ship(subject, number::OPENAT, &[-100i64 as u64, KernelText::AT, flags, mode, 0, 0], &text))
    }

    fn read_executable(&self, subject: &Subject<'_>, [to, bytes]: [u64; 2]) -> Result<u64, Errno> {
        let program = self.node.program.with(|program| *program);
        let path = program.path();
        let path = path.get(..path.len().min(usize::try_from(bytes).unwrap_or(usize::MAX))).unwrap_or(&[]);
        if path.is_empty() {
            return Err(Errno::EINVAL);
        }
        subject.memory.write(to, path).map(|()| path.len() as u64).ok_or(Errno::EFAULT)
    }
}

fn write_mapping(to: &mut Written<'_>, from: u64, end: u64, protection: Protection, name: &str) -> fmt::Result {
    let rights = Rights(protection);
    let space = if name.is_empty() { "" } else { "                      " };
    writeln!(to, "{from:08x}-{end:08x} {rights}p 00000000 00:00 0 {space}{name}")
}

impl Written<'_> {
    fn flush(&mut self) -> fmt::Result {
        let line = self.line.get(..self.used).unwrap_or(&[]);
        let arguments = [self.descriptor, KernelText::AT, line.len() as u64, 0, 0, 0];
        let written = self.host.ship(self.subject, number::WRITE, &arguments, &KernelText(line));
        let whole = written == line.len() as i64;
        self.used = 0;
        if whole { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Write for Written<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let mut rest = piece.as_bytes();
        while !rest.is_empty() {
            if self.used == LINE_BYTES {
                self.flush()?;
            }
            let room = self.line.get_mut(self.used..).ok_or(fmt::Error)?;
            let (now, later) = rest.split_at(rest.len().min(room.len()));
            room.get_mut(..now.len()).ok_or(fmt::Error)?.copy_from_slice(now);
            self.used += now.len();
            rest = later;
        }
        Ok(())
    }
}

/// As in `/proc/self/maps`.
struct Rights(Protection);

impl fmt::Display for Rights {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Protection { read, write, execute } = self.0;
        for (has, letter) in [(read, "r"), (write, "w"), (execute, "x")] {
            to.write_str(if has { letter } else { "-" })?;
        }
        Ok(())
    }
}

/// CPUs, as Linux writes sets of them.
struct List(Range<u32>);

impl fmt::Display for List {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.start, self.0.end.saturating_sub(1)) {
            (first, last) if first >= last => write!(to, "{first}"),
            (first, last) => write!(to, "{first}-{last}"),
        }
    }
}

/// Printable characters up to a NUL.
struct Ascii<'a>(&'a [u8]);

impl fmt::Display for Ascii<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printable = self.0.iter().take_while(|byte| **byte != 0).filter(|byte| (32..127).contains(*byte));
        printable.try_for_each(|&byte| to.write_char(char::from(byte)))
    }
}

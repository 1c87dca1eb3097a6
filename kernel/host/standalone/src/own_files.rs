// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that tell of the process or of the node, where the proxy's would tell of another: opened here by name, made as
//! memory files of the proxy, so that every call on their descriptors is Linux's own.
//!
//! Called by `answer.rs` for calls with a path, before they are shipped.

use crate::host::{Alone, Subject};
use crate::ship::{KernelText, calls, result};
use core::arch::x86_64::__cpuid;
use core::fmt::{self, Write};
use tacet_arch::Processor;
use tacet_logic::paging::Protection;
use tacet_logic::static_map::Part;
use tacet_logic::text::Text;
use tacet_shipping::errno::Errno;

/// No name of these files is longer, the process's number included.
const NAME_BYTES: usize = 48;
const EXECUTABLE: &[u8] = b"/proc/self/exe";
/// memfd_create(2): closed when a program is executed. No program of a node executes another one.
const CLOSED_AT_EXEC: u64 = 1;
const LINE_BYTES: usize = 512;

const OPEN: u64 = 2;
const OPENAT: u64 = 257;
const READLINK: u64 = 89;
const READLINKAT: u64 = 267;

#[derive(Clone, Copy)]
enum File {
    Map,
    Maps,
    Cpus,
    CpuInformation,
}

/// A memory file of the proxy that is being written.
struct Written<'a> {
    host: &'a Alone,
    subject: &'a Subject<'a>,
    descriptor: u64,
    line: [u8; LINE_BYTES],
    used: usize,
}

impl Alone {
    /// `None`: the call is not about such a file.
    pub fn answer_own_file(
        &self,
        subject: &Subject<'_>,
        number: u64,
        arguments: &[u64; 6],
    ) -> Option<Result<u64, Errno>> {
        let [first, second, third, fourth, ..] = *arguments;
        let (path, rest) = match number {
            OPEN | READLINK => (first, [second, third]),
            OPENAT | READLINKAT => (second, [third, fourth]),
            _ => return None,
        };
        let mut name = [0; NAME_BYTES];
        let bytes = subject.memory.read_text(path, &mut name)?;
        let name = name.get(..bytes)?;
        let opens = matches!(number, OPEN | OPENAT);
        if name == EXECUTABLE {
            return Some(if opens { self.open_executable(subject, rest) } else { self.read_executable(subject, rest) });
        }
        let file = self.file(subject, name).filter(|_| opens)?;
        Some(self.make_file(subject, file))
    }

    fn file(&self, subject: &Subject<'_>, name: &[u8]) -> Option<File> {
        let own = subject.thread.process_id.load(core::sync::atomic::Ordering::Relaxed);
        match name {
            b"/proc/cpuinfo" => return Some(File::CpuInformation),
            b"/sys/devices/system/cpu/online"
            | b"/sys/devices/system/cpu/possible"
            | b"/sys/devices/system/cpu/present" => return Some(File::Cpus),
            _ => {}
        }
        let rest = name.strip_prefix(b"/proc/")?;
        let number = Text::<12>::format(format_args!("{own}"));
        let rest = rest.strip_prefix(b"self").or_else(|| rest.strip_prefix(number.as_bytes()))?;
        match rest {
            b"/map" => Some(File::Map),
            b"/maps" => Some(File::Maps),
            _ => None,
        }
    }

    fn make_file(&self, subject: &Subject<'_>, file: File) -> Result<u64, Errno> {
        let name = KernelText(b"tacet\0");
        let arguments = [KernelText::AT, CLOSED_AT_EXEC, 0, 0, 0, 0];
        let descriptor = result(self.ship(subject, calls::MEMFD_CREATE, &arguments, &name))?;
        let mut written = Written { host: self, subject, descriptor, line: [0; LINE_BYTES], used: 0 };
        let done = match file {
            File::Map => self.write_map(&mut written),
            File::Maps => self.write_maps(&mut written),
            File::Cpus => writeln!(written, "{}", Range(self.node.cpus.len())),
            File::CpuInformation => self.write_cpu_information(&mut written),
        };
        if done.and_then(|()| written.flush()).is_err() {
            self.ship_call(subject, calls::CLOSE, &[descriptor, 0, 0, 0, 0, 0]);
            return Err(Errno::EIO);
        }
        result(self.ship_call(subject, calls::LSEEK, &[descriptor, 0, 0, 0, 0, 0])).map(|_| descriptor)
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
        for cpu in 0..self.node.cpus.len() {
            writeln!(to, "processor\t: {cpu}\nvendor_id\t: {vendor}\nmodel name\t: {brand}\ncpu MHz\t\t: {mhz}.000")?;
            writeln!(to, "physical id\t: 0\ncore id\t\t: {cpu}\ncpu cores\t: {}\n", self.node.cpus.len())?;
        }
        Ok(())
    }

    fn open_executable(&self, subject: &Subject<'_>, [flags, mode]: [u64; 2]) -> Result<u64, Errno> {
        let program = self.node.program.with(|program| *program);
        let text = KernelText(program.text());
        result(self.ship(subject, calls::OPENAT, &[-100i64 as u64, KernelText::AT, flags, mode, 0, 0], &text))
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
        let written = self.host.ship(self.subject, calls::WRITE, &arguments, &KernelText(line));
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

/// The numbers below this one, as Linux writes sets of CPUs.
struct Range(usize);

impl fmt::Display for Range {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 | 1 => to.write_str("0"),
            count => write!(to, "0-{}", count - 1),
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

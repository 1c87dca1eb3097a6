// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads the processes of a job: finds the program and its dynamic linker through the first process's proxy, divides the
//! memory, makes the address spaces, and copies what is in the files.
//!
//! Called by CPU 0 while no process runs. The files are read once: further processes get copies of the first one's
//! memory.

use crate::host::{Alone, Subject};
use crate::job::Failure;
use crate::memory::Layout;
use crate::node;
use crate::ship::{calls, result};
use core::cell::RefCell;
use core::sync::atomic::Ordering;
use tacet_arch::native::ELF_MACHINE;
use tacet_arch::native::alone::{Ram, Segment, Space};
use tacet_logic::elf::{self, HEAD_BYTES, Program};
use tacet_logic::static_map::{self, Map, Part, RANGES, Request, partition};
use tacet_logic::text::Text;
use tacet_shipping::errno::Errno;
use tacet_shipping::job::Job;
use tacet_shipping::key::Key;
use tacet_shipping::marshal::UserMemory;

/// openat(2): in the current directory, to read, not for programs that this one starts.
const HERE: u64 = -100i64 as u64;
const READ_CLOSED_AT_EXEC: u64 = 0x8_0000;
/// lseek(2): from the end.
const END: u64 = 2;
/// Of a dynamic linker's path; there is none that is longer.
const LONGEST_PATH: usize = 512;
const PIECE_BYTES: u64 = tacet_shipping::packet::PIECE_BYTES as u64;
/// Without that much a program hardly starts.
const LEAST_HEAP_BYTES: u64 = 128 << 10;

macro_rules! failure {
    ($($text:tt)*) => { Failure::format(format_args!($($text)*)) };
}

/// A file that is open at the proxy.
struct File {
    descriptor: u64,
    program: Program,
    /// Its first bytes, so many, are in the node's scratch.
    head_bytes: u64,
}

/// For calls of the loader: texts and buffers of the kernel, and RAM by its physical address.
struct Loading<'a> {
    ram: Ram,
    text: &'a [u8],
    buffer: RefCell<&'a mut [u8]>,
}

/// Addresses that no RAM has.
const TEXT_AT: u64 = 1 << 60;
const BUFFER_AT: u64 = 1 << 61;

impl UserMemory for Loading<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        let offset = usize::try_from(address.checked_sub(TEXT_AT)?).ok()?;
        let text = self.text.get(offset..).unwrap_or(&[]);
        let (here, behind) = to.split_at_mut(text.len().min(to.len()));
        here.copy_from_slice(text.get(..here.len())?);
        behind.fill(0);
        Some(())
    }

    fn write(&self, address: u64, from: &[u8]) -> Option<()> {
        match address.checked_sub(BUFFER_AT) {
            Some(offset) => {
                let offset = usize::try_from(offset).ok()?;
                self.buffer.borrow_mut().get_mut(offset..)?.get_mut(..from.len())?.copy_from_slice(from);
                Some(())
            }
            None => self.ram.write(address, from),
        }
    }

    fn is_writable(&self, _: u64, _: usize) -> bool {
        true
    }
}

impl Alone {
    /// Makes the job's processes, ready to start.
    #[inline(never)]
    pub fn load_job(&self, job: &Job<'_>, key: &Key) -> Result<(), Failure> {
        let count = job.processes.count();
        if count == 0 || count > self.node.processes.len() {
            let most = self.node.processes.len();
            return Err(failure!("{count} processes on a node with {most} CPUs; 1 to {most} are possible"));
        }
        self.make_processes(job, key, count)?;
        let first = self.leader(0).ok_or_else(|| failure!("no thread for a process"))?;
        let mut program = self.open(&first, job.program)?;
        self.name_program(&first, program.descriptor);
        let interpreter = match program.program.interpreter {
            Some(part) => {
                program.head_bytes = 0; // the interpreter's come there
                Some(self.open_interpreter(&first, &program, part, job.program)?)
            }
            None => None,
        };
        self.divide(job, &program.program, interpreter.as_ref().map(|file| &file.program), count)?;
        for range in self.ram.ranges() {
            self.ram.zero(range.base, range.bytes);
        }
        self.make_spaces(count)?;
        self.copy_files(&first, &program, interpreter.as_ref(), count)?;
        for file in [Some(&program), interpreter.as_ref()].into_iter().flatten() {
            self.ship_call(&first, calls::CLOSE, &[file.descriptor, 0, 0, 0, 0, 0]);
        }
        for index in 0..count {
            let leader = self.leader(index).ok_or_else(|| failure!("no thread for a process"))?;
            self.prepare_start(&leader, job, index, &program.program, interpreter.as_ref().map(|file| &file.program))?;
        }
        self.node.living.store(count as u32, Ordering::Release);
        Ok(())
    }

    /// Opens a program at the process's proxy.
    fn open(&self, subject: &Subject<'_>, path: &[u8]) -> Result<File, Failure> {
        self.node.scratch.with(|head| self.open_into(subject, path, head))
    }

    #[inline(never)]
    fn open_into(&self, subject: &Subject<'_>, path: &[u8], head: &mut [u8]) -> Result<File, Failure> {
        let name = name(path);
        let loading = Loading { ram: self.ram, text: path, buffer: RefCell::new(head) };
        let open = self.ship(subject, calls::OPENAT, &[HERE, TEXT_AT, READ_CLOSED_AT_EXEC, 0, 0, 0], &loading);
        let descriptor = result(open).map_err(|Errno(error)| failure!("{name}: cannot be opened: error {error}"))?;
        let unread = |Errno(error)| failure!("{name}: cannot be read: error {error}");
        let read = self.ship(subject, calls::PREAD, &[descriptor, BUFFER_AT, HEAD_BYTES as u64, 0, 0, 0], &loading);
        let read = result(read).map_err(unread)?;
        let size = match read < HEAD_BYTES as u64 {
            true => read,
            false => {
                result(self.ship(subject, calls::LSEEK, &[descriptor, 0, END, 0, 0, 0], &loading)).map_err(unread)?
            }
        };
        let head = loading.buffer.into_inner();
        let head = head.get(..read as usize).unwrap_or(&[]);
        let program = Program::parse(head, size, ELF_MACHINE).map_err(|invalid| failure!("{name}: {invalid}"))?;
        Ok(File { descriptor, program, head_bytes: read })
    }

    /// Learns the whole path of the program. If it is too long, the program has none.
    fn name_program(&self, subject: &Subject<'_>, descriptor: u64) {
        let link = Text::<40>::format(format_args!("/proc/self/fd/{descriptor}"));
        let mut path = node::Program::NONE;
        let most = path.text.len() - 1;
        let loading = Loading { ram: self.ram, text: link.as_bytes(), buffer: RefCell::new(&mut path.text) };
        let read = self.ship(subject, calls::READLINK, &[TEXT_AT, BUFFER_AT, most as u64, 0, 0, 0], &loading);
        let path = if (1..most as i64).contains(&read) { path } else { node::Program::NONE };
        self.node.program.with(|program| *program = path);
    }

    fn open_interpreter(
        &self,
        subject: &Subject<'_>,
        program: &File,
        part: elf::FilePart,
        path: &[u8],
    ) -> Result<File, Failure> {
        let mut text = [0; LONGEST_PATH];
        let loading = Loading { ram: self.ram, text: &[], buffer: RefCell::new(&mut text) };
        let bytes = part.bytes.min(LONGEST_PATH as u64);
        let read =
            self.ship(subject, calls::PREAD, &[program.descriptor, BUFFER_AT, bytes, part.offset, 0, 0], &loading);
        let read = result(read).map_err(|Errno(error)| failure!("{}: cannot be read: error {error}", name(path)))?;
        let text = loading.buffer.into_inner();
        let interpreter = text.get(..read as usize).and_then(elf::interpreter_path);
        let interpreter = interpreter.ok_or_else(|| failure!("{}: names no dynamic linker", name(path)))?;
        self.open(subject, interpreter)
    }

    #[inline(never)]
    fn divide(
        &self,
        job: &Job<'_>,
        program: &Program,
        interpreter: Option<&Program>,
        count: usize,
    ) -> Result<(), Failure> {
        let mut shares = [0; static_map::PROCESSES];
        shares.iter_mut().zip(job.processes.iter()).for_each(|(share, process)| *share = process.memory_bytes);
        let mut ranges = [static_map::Range::default(); RANGES];
        let known = self.ram.ranges();
        for (range, ram) in ranges.iter_mut().zip(known) {
            *range = static_map::Range { address: ram.base, bytes: ram.bytes };
        }
        let request = Request {
            program,
            interpreter,
            shares: shares.get(..count).unwrap_or(&[]),
            shared_bytes: job.shared_bytes,
            least_heap_bytes: LEAST_HEAP_BYTES.saturating_add(job.stack_bytes),
            ranges: ranges.get(..known.len()).unwrap_or(&ranges),
        };
        self.node.map.with(|map| partition(&request, map)).map_err(|refused| failure!("{refused}"))
    }

    fn make_spaces(&self, count: usize) -> Result<(), Failure> {
        for index in 0..count {
            let Some(process) = self.node.process(index) else { continue };
            let space = self.node.map.with(|map| {
                let segments = map.segments(index).flat_map(|segment| {
                    segment.runs().map(move |run| Segment {
                        address: run.virtual_address,
                        physical: run.physical_address,
                        bytes: run.bytes,
                        page: run.page,
                        rights: segment.protection,
                    })
                });
                Space::new(self.node.tables, self.ram, segments)
            });
            let space = space.map_err(|refused| failure!("process {index}: {refused}"))?;
            process.root.store(space.root(), Ordering::Relaxed);
            if let Some(leader) = self.leader(index) {
                leader.thread.root.store(space.root(), Ordering::Relaxed);
            }
            process.space.with(|own| *own = Some(space));
            let heap = self.node.map.with(|map| map.heap(index));
            let heap = heap.ok_or_else(|| failure!("process {index} has no heap"))?;
            process.memory.with(|layout: &mut Layout| layout.begin(heap.virtual_address, heap.bytes));
        }
        Ok(())
    }

    /// Reads the files into the first process and copies that to the others.
    fn copy_files(
        &self,
        subject: &Subject<'_>,
        program: &File,
        interpreter: Option<&File>,
        count: usize,
    ) -> Result<(), Failure> {
        let place = self.node.map.with(|map| map.program_place());
        self.copy_file_segments(subject, program, place)?;
        if let Some(interpreter) = interpreter {
            let place = self.node.map.with(|map| map.interpreter_place());
            self.copy_file_segments(subject, interpreter, place)?;
        }
        self.node.map.with(|map| {
            for index in 1..count {
                copy_parts(map, self.ram, index);
            }
        });
        Ok(())
    }

    fn copy_file_segments(&self, subject: &Subject<'_>, file: &File, place: u64) -> Result<(), Failure> {
        let loading = Loading { ram: self.ram, text: &[], buffer: RefCell::new(&mut []) };
        for segment in file.program.segments() {
            let mut done = self.copy_from_head(file, segment, place);
            while done < segment.file_bytes {
                let bytes = (segment.file_bytes - done).min(PIECE_BYTES);
                let address = place.wrapping_add(segment.address + done);
                let physical = self.node.map.with(|map| map.physical(0, address, bytes));
                let physical = physical.ok_or_else(|| failure!("no memory at {address:#x}"))?;
                let arguments = [file.descriptor, physical, bytes, segment.file_offset + done, 0, 0];
                match result(self.ship(subject, calls::PREAD, &arguments, &loading)) {
                    Ok(0) => return Err(failure!("the program became shorter while it was read")),
                    Ok(read) => done += read,
                    Err(Errno(error)) => return Err(failure!("the program cannot be read: error {error}")),
                }
            }
        }
        Ok(())
    }

    /// Copies a segment that has come with the file's head; how many bytes: all or none.
    fn copy_from_head(&self, file: &File, segment: &elf::Segment, place: u64) -> u64 {
        let bytes = segment.file_bytes;
        if segment.file_offset.checked_add(bytes).is_none_or(|end| end > file.head_bytes) {
            return 0;
        }
        let physical = self.node.map.with(|map| map.physical(0, place.wrapping_add(segment.address), bytes));
        let copied = self.node.scratch.with(|head| {
            let part = head.get(segment.file_offset as usize..)?.get(..bytes as usize)?;
            self.ram.write(physical?, part)
        });
        copied.map_or(0, |()| bytes)
    }
}

/// Copies what came from files from the first process to another.
fn copy_parts(map: &Map, ram: Ram, process: usize) {
    for (from, to) in map.segments(0).zip(map.segments(process)) {
        if !matches!(from.part, Part::Heap | Part::Shared) {
            ram.copy(from.physical_address, to.physical_address, from.bytes);
        }
    }
}

/// A path, for people.
fn name(path: &[u8]) -> &str {
    core::str::from_utf8(path).unwrap_or("the program")
}

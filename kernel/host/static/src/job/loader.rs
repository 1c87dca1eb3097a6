// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads the processes of a job: finds the program and its dynamic linker through the first process's proxy, divides the
//! memory, makes the address spaces, and copies what is in the files.
//!
//! Called by CPU 0 while no process runs. The files are read once: further processes get copies of the first one's
//! memory.

use super::begin::Failure;
use crate::base::layout::Layout;
use crate::base::{StaticHost, Subject, node};
use crate::machine::ELF_MACHINE;
use crate::machine::{Ram, Segment, Space};
use crate::ship::result;
use core::cell::RefCell;
use core::ops::Range;
use core::sync::atomic::Ordering;
use tacet_logic::elf::{self, HEAD_BYTES, Program};
use tacet_logic::static_map::{self, Map, Part, RANGES, Request, partition};
use tacet_wire::calls::number;
use tacet_wire::errno::Errno;
use tacet_wire::job::Job;
use tacet_wire::key::Key;
use tacet_wire::marshal::{Shipment, UserMemory};
use tacet_wire::program::{self, Opened};

/// Of a dynamic linker's path; there is none that is longer.
const LONGEST_PATH: usize = 512;
const PIECE_BYTES: u64 = tacet_wire::packet::LARGE_PIECE_BYTES as u64;
/// The proxy's answer about a file: its path, if it is not too long, and its beginning.
const OPENED_BYTES: usize = program::FIXED_BYTES + PATH_BYTES + HEAD_BYTES;
const PATH_BYTES: usize = 256;
/// For the program and its dynamic linker.
pub const SCRATCH_BYTES: usize = 2 * OPENED_BYTES;
const PROGRAM_AT: usize = 0;
const LINKER_AT: usize = OPENED_BYTES;
/// Without that much a program hardly starts.
const LEAST_HEAP_BYTES: u64 = 128 << 10;

macro_rules! failure {
    ($($text:tt)*) => { Failure::format(format_args!($($text)*)) };
}

/// A file that the proxy has opened.
struct File {
    /// `None`: nothing is left to be read.
    descriptor: Option<u64>,
    program: Program,
    /// Where its beginning is in the node's scratch.
    head: Range<usize>,
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

impl StaticHost {
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
        let program = self.open_program(&first, job.program, PROGRAM_AT)?;
        let interpreter = match program.program.interpreter {
            Some(part) => Some(self.open_interpreter(&first, &program, part, job.program)?),
            None => None,
        };
        self.divide(job, &program.program, interpreter.as_ref().map(|file| &file.program), count)?;
        self.zero_memory();
        self.make_spaces(count)?;
        self.copy_files(&first, &program, interpreter.as_ref(), count)?;
        self.close_files(&first, &program, interpreter.as_ref());
        for index in 0..count {
            let leader = self.leader(index).ok_or_else(|| failure!("no thread for a process"))?;
            self.prepare_start(&leader, job, index, &program.program, interpreter.as_ref().map(|file| &file.program))?;
        }
        self.node.living.store(count as u32, Ordering::Release);
        Ok(())
    }

    /// Opens a program at the process's proxy, which tells about it: for a place in the scratch.
    fn open_program(&self, subject: &Subject<'_>, path: &[u8], at: usize) -> Result<File, Failure> {
        self.node.scratch.with(|scratch| {
            let room = scratch.get_mut(at..).and_then(|room| room.get_mut(..OPENED_BYTES));
            self.open_into(subject, path, at, room.unwrap_or_default())
        })
    }

    #[inline(never)]
    fn open_into(&self, subject: &Subject<'_>, path: &[u8], at: usize, room: &mut [u8]) -> Result<File, Failure> {
        let name = name(path);
        let loading = Loading { ram: self.ram, text: path, buffer: RefCell::new(room) };
        let open = Shipment::open_program(TEXT_AT, BUFFER_AT, OPENED_BYTES as u64);
        let told = result(self.send(subject, open, &loading, false));
        let told = told.map_err(|Errno(error)| failure!("{name}: cannot be opened or read: error {error}"))?;
        let told = loading.buffer.into_inner().get(..told as usize);
        let opened = told.and_then(Opened::decode);
        let Opened { descriptor, bytes, path, beginning } =
            opened.ok_or_else(|| failure!("{name}: its proxy's answer cannot be read"))?;
        if at == PROGRAM_AT {
            self.name_program(path);
        }
        let bytes = if descriptor.is_none() { beginning.len() as u64 } else { bytes };
        let head = beginning.get(..HEAD_BYTES).unwrap_or(beginning);
        let program = Program::parse(head, bytes, ELF_MACHINE).map_err(|invalid| failure!("{name}: {invalid}"))?;
        let end = at + told.map_or(0, <[u8]>::len);
        Ok(File { descriptor: descriptor.map(u64::from), program, head: end - beginning.len()..end })
    }

    /// Keeps the whole path of the program. One that is too long is none.
    fn name_program(&self, path: &[u8]) {
        let mut program = node::Program::NONE;
        if path.len() < program.text.len()
            && let Some(text) = program.text.get_mut(..path.len())
        {
            text.copy_from_slice(path);
        }
        self.node.program.with(|own| *own = program);
    }

    /// The path of a dynamic linker mostly comes with the program's beginning.
    fn open_interpreter(
        &self,
        subject: &Subject<'_>,
        program: &File,
        part: elf::FilePart,
        path: &[u8],
    ) -> Result<File, Failure> {
        let mut text = [0; LONGEST_PATH];
        let bytes = part.bytes.min(LONGEST_PATH as u64);
        let place = text.get_mut(..bytes as usize).unwrap_or_default();
        if self.with_head(program, part.offset, bytes, |head| place.copy_from_slice(head)).is_none() {
            let loading = Loading { ram: self.ram, text: &[], buffer: RefCell::new(place) };
            let descriptor = program.descriptor.unwrap_or(u64::MAX);
            let read =
                self.ship(subject, number::PREAD64, &[descriptor, BUFFER_AT, bytes, part.offset, 0, 0], &loading);
            result(read).map_err(|Errno(error)| failure!("{}: cannot be read: error {error}", name(path)))?;
        }
        let interpreter = text.get(..bytes as usize).and_then(elf::interpreter_path);
        let interpreter = interpreter.ok_or_else(|| failure!("{}: names no dynamic linker", name(path)))?;
        self.open_program(subject, interpreter, LINKER_AT)
    }

    /// Nothing else is open besides the three that a program begins with: one call closes both.
    fn close_files(&self, subject: &Subject<'_>, program: &File, interpreter: Option<&File>) {
        let open = || [Some(program), interpreter].into_iter().flatten().filter_map(|file| file.descriptor);
        if let (Some(first), Some(last)) = (open().min(), open().max()) {
            self.ship_call(subject, number::CLOSE_RANGE, &[first, last, 0, 0, 0, 0]);
        }
    }

    /// Uses a part of a file that has come with its beginning. `None`: not all of it has.
    fn with_head<T>(&self, file: &File, offset: u64, bytes: u64, with: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.node.scratch.with(|scratch| {
            let head = scratch.get(file.head.clone())?;
            let part = head.get(usize::try_from(offset).ok()?..)?.get(..usize::try_from(bytes).ok()?)?;
            Some(with(part))
        })
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
            let heap = self.node.map.with(|map| {
                let heap = map.heap(index)?;
                let others =
                    map.segments(index).map(|segment| segment.virtual_address..segment.virtual_address + segment.bytes);
                process.memory.with(|layout: &mut Layout| layout.begin(heap.virtual_address, heap.bytes, others));
                Some(())
            });
            heap.ok_or_else(|| failure!("process {index} has no heap"))?;
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
            let mut done = self.copy_with_head(file, segment, place);
            while done < segment.file_bytes {
                let bytes = (segment.file_bytes - done).min(PIECE_BYTES);
                let address = place.wrapping_add(segment.address + done);
                let physical = self.node.map.with(|map| map.physical(0, address, bytes));
                let physical = physical.ok_or_else(|| failure!("no memory at {address:#x}"))?;
                let descriptor = file.descriptor.ok_or_else(|| failure!("the program is shorter than it says"))?;
                let arguments = [descriptor, physical, bytes, segment.file_offset + done, 0, 0];
                match result(self.ship(subject, number::PREAD64, &arguments, &loading)) {
                    Ok(0) => return Err(failure!("the program became shorter while it was read")),
                    Ok(read) => done += read,
                    Err(Errno(error)) => return Err(failure!("the program cannot be read: error {error}")),
                }
            }
        }
        Ok(())
    }

    /// Copies a segment that has come with the file's head; how many bytes: all or none.
    fn copy_with_head(&self, file: &File, segment: &elf::Segment, place: u64) -> u64 {
        let bytes = segment.file_bytes;
        let physical = self.node.map.with(|map| map.physical(0, place.wrapping_add(segment.address), bytes));
        let copied = self.with_head(file, segment.file_offset, bytes, |part| self.ram.write(physical?, part));
        copied.flatten().map_or(0, |()| bytes)
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

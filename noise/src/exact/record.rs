// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An exact record: one row per quantum, in instructions, and the facts that explain it later.
//!
//! Parquet like other records, but with its own columns and its own key [`KEY`] for the [`About`] in its footer, so
//! that no reader treats a number of instructions as a time.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::data_type::Int64Type;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde::{Deserialize, Serialize};

use super::log::Hit;
use super::summary::Culprits;
use crate::Result;
use crate::record::{column, offsets_are_inside, read_whole, whole_or_nothing};

/// The key of [`About`] in the footer.
pub const KEY: &str = "tacet.noise.exact";
/// Version of the schema; a file with another version is refused.
pub const SCHEMA: u32 = 1;
/// More quanta than this in one file are not read.
const ROWS_LIMIT: i64 = 1 << 28;

const COLUMNS: [&str; 7] = [
    "quantum",
    "program_instructions",
    "kernel_instructions",
    "other_user_instructions",
    "kernel_entries",
    "interrupts",
    "exceptions",
];

/// The instructions of the measured CPU in one quantum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantum {
    /// Of the program; more than in other quanta if an interrupted block was counted twice.
    pub program: u64,
    pub kernel: u64,
    /// Of other programs, in user mode.
    pub other: u64,
    /// Entries into the kernel from user mode, of the program or of another one.
    pub entries: u64,
    /// 0 if the emulator does not report them.
    pub interrupts: u64,
    pub exceptions: u64,
}

/// The description of a record, in its footer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub schema: u32,
    /// Version of the tool that measured.
    pub version: String,
    pub label: String,
    /// The host on which the emulator ran.
    pub host: String,
    /// The kernel of the emulated node.
    pub kernel_release: String,
    pub kernel_arguments: String,
    pub arguments: Vec<String>,
    /// Seconds since 1970.
    pub began_unix_s: u64,
    pub cpus: u32,
    pub measured_cpu: u32,
    /// The load on the other CPUs; none if they were idle.
    pub load: Option<String>,
    /// The seed of a run that can be repeated to the last instruction.
    pub seed: Option<u64>,
    /// The version of the emulator's plugin interface.
    pub plugin_interface: u64,
    pub sees_interrupts: bool,
    pub culprits: Culprits,
}

/// An exact measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub about: About,
    pub quanta: Vec<Quantum>,
}

impl From<&Hit> for Quantum {
    fn from(hit: &Hit) -> Quantum {
        Quantum {
            program: hit.user,
            kernel: hit.kernel,
            other: hit.other,
            entries: hit.entries,
            interrupts: hit.interrupts,
            exceptions: hit.exceptions,
        }
    }
}

impl Quantum {
    /// Instructions that are not the program's.
    pub fn stolen(&self) -> u64 {
        self.kernel.saturating_add(self.other)
    }

    fn cells(&self, index: usize) -> [u64; 7] {
        let Quantum { program, kernel, other, entries, interrupts, exceptions } = *self;
        [index as u64, program, kernel, other, entries, interrupts, exceptions]
    }
}

impl Record {
    /// Writes the record to `path`, completely or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        whole_or_nothing(path, |path| self.write_to(path))
    }

    fn write_to(&self, path: &Path) -> Result<()> {
        let columns = COLUMNS.iter().map(|name| {
            let column = Type::primitive_type_builder(name, Physical::INT64).with_repetition(Repetition::REQUIRED);
            column.build().map(Arc::new)
        });
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("quanta").with_fields(columns).build()?;
        let about = KeyValue::new(KEY.to_owned(), serde_json::to_string(&self.about)?);
        let properties =
            WriterProperties::builder().set_compression(Compression::SNAPPY).set_key_value_metadata(Some(vec![about]));
        let file = File::create(path)?;
        let mut writer = SerializedFileWriter::new(&file, Arc::new(schema), Arc::new(properties.build()))?;
        let rows: Vec<[u64; 7]> = self.quanta.iter().enumerate().map(|(index, row)| row.cells(index)).collect();
        let mut group = writer.next_row_group()?;
        for index in 0..COLUMNS.len() {
            let values: Vec<i64> = rows.iter().filter_map(|row| row.get(index)).map(|value| *value as i64).collect();
            let mut column = group.next_column()?.ok_or("no column")?;
            column.typed::<Int64Type>().write_batch(&values, None, None)?;
            column.close()?;
        }
        group.close()?;
        writer.close()?;
        Ok(file.sync_all()?)
    }

    /// Reads a file from any origin. An error is one line that names the file.
    pub fn read(path: &Path) -> Result<Record> {
        read_whole(path, &format!("exact record of schema {SCHEMA}"), read)
    }
}

fn read(file: File) -> Result<Record> {
    let bytes = i64::try_from(file.metadata()?.len())?;
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata();
    let text = metadata.key_value_metadata().into_iter().flatten().find(|pair| pair.key == KEY);
    let text = text.and_then(|pair| pair.value.as_deref()).ok_or_else(|| format!("it has no `{KEY}` in its footer"))?;
    let about: About = serde_json::from_str(text)?;
    if about.schema != SCHEMA {
        return Err(format!("its schema is {}", about.schema).into());
    }
    let columns = metadata.schema_descr().columns();
    let expected = columns.len() == COLUMNS.len()
        && columns.iter().zip(COLUMNS).all(|(column, name)| {
            column.name() == name && column.physical_type() == Physical::INT64 && column.max_def_level() == 0
        });
    if !expected {
        return Err("it has other columns".into());
    }
    if !(1..=ROWS_LIMIT).contains(&metadata.num_rows()) {
        return Err(format!("it has {} rows", metadata.num_rows()).into());
    }
    offsets_are_inside(reader.metadata().row_groups(), bytes)?;
    let mut quanta = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let columns = (0..COLUMNS.len()).map(|index| column(&*group, index)).collect::<Result<Vec<_>>>()?;
        append(&columns, &mut quanta)?;
    }
    Ok(Record { about, quanta })
}

fn append(columns: &[Vec<i64>], quanta: &mut Vec<Quantum>) -> Result<()> {
    let [index, program, kernel, other, entries, interrupts, exceptions] = columns else {
        return Err("it has other columns".into());
    };
    let count = |column: &[i64], row: usize| column.get(row).and_then(|value| u64::try_from(*value).ok());
    for row in 0..index.len() {
        let quantum = || {
            Some(Quantum {
                program: count(program, row)?,
                kernel: count(kernel, row)?,
                other: count(other, row)?,
                entries: count(entries, row)?,
                interrupts: count(interrupts, row)?,
                exceptions: count(exceptions, row)?,
            })
        };
        if count(index, row) != Some(quanta.len() as u64) {
            return Err("its quanta are not in order".into());
        }
        quanta.push(quantum().ok_or("its columns differ in length or have a negative number")?);
    }
    Ok(())
}

#[cfg(test)]
pub mod examples {
    use super::*;
    use crate::exact::log::{Entry, Other, Quanta, Site};
    use crate::exact::symbols::Symbols;

    /// Four quanta of 1000 instructions: one was interrupted by a timer, in another a second program ran.
    pub fn record() -> Record {
        let seen = Quanta {
            cpu: 3,
            quanta: 4,
            user: 1000,
            hits: Vec::new(),
            sites: vec![
                Site { address: 0x100, times: 3, instructions: 10 },
                Site { address: 0x208, times: 2, instructions: 20 },
                Site { address: 0x200, times: 2, instructions: 15 },
            ],
            entries: [(1, 30), (2, 70)]
                .map(|(times, instructions)| Entry { address: 0x100, times, instructions })
                .to_vec(),
            others: vec![Other { name: Some("daemon".into()), pid: 7, turns: 2, instructions: 50 }],
        };
        let symbols = Symbols::parse("100 T asm_sysvec_apic_timer_interrupt\n200 t tick [m]\n300 T end\n");
        let quiet = Quantum { program: 1000, ..Quantum::default() };
        let mut quanta = vec![quiet; 4];
        quanta[1] = Quantum { kernel: 30, entries: 1, interrupts: 1, ..quiet };
        quanta[2] = Quantum { program: 1002, kernel: 70, other: 50, entries: 2, interrupts: 2, ..quiet };
        Record { about: about(Culprits::of(&seen, &symbols)), quanta }
    }

    fn about(culprits: Culprits) -> About {
        About {
            schema: SCHEMA,
            version: "0".into(),
            label: "example".into(),
            host: "node1".into(),
            kernel_release: "6.12.0".into(),
            kernel_arguments: "quiet".into(),
            arguments: vec!["exact".into()],
            began_unix_s: 1_790_000_000,
            cpus: 4,
            measured_cpu: 3,
            load: Some("yes".into()),
            seed: None,
            plugin_interface: 7,
            sees_interrupts: true,
            culprits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_record_can_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.parquet");
        let record = examples::record();
        record.write(&path).expect("written");
        assert_eq!(Record::read(&path).expect("read"), record);
        let error = crate::record::Record::read(&path).expect_err("it has no times").to_string();
        assert!(error.contains("tacet noise exact --record") && error.lines().count() == 1, "{error}");
    }

    /// Truncated files are refused in one line; files with a changed byte are refused in one line or are records.
    #[test]
    fn damaged_files_are_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.parquet");
        examples::record().write(&path).expect("written");
        let whole = std::fs::read(&path).expect("read");
        let judge = |bytes: &[u8], must_fail: bool| {
            std::fs::write(&path, bytes).expect("rewritten");
            match Record::read(&path) {
                Ok(_) => assert!(!must_fail),
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.lines().count() == 1 && error.contains("a.parquet"), "{error}");
                }
            }
        };
        (0..whole.len()).for_each(|length| judge(&whole[..length], true));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            judge(&bytes, false);
        }
    }
}

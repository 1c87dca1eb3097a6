// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads a record. The file may come from anywhere: all of it is checked before it is used, and an error is one line
//! that names the file.

use std::cell::Cell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use parquet::column::reader::ColumnReader;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use super::across::Across;
use super::write::{ACROSS_COLUMNS, COLUMNS};
use super::{About, KEY, Record, SCHEMA, Samples};
use crate::{Result, exact};

/// More rows than this in one file are not read: 158 cores for ten days at 1 kHz.
const ROWS_LIMIT: i64 = 1 << 37;
const BATCH: usize = 1 << 16;

impl Record {
    pub fn read(path: &Path) -> Result<Record> {
        read_whole(path, &format!("noise record of schema {SCHEMA}"), read)
    }
}

/// Opens a file and calls `read`. An error is one line that names the file and the expected content (`what`).
pub(crate) fn read_whole<T>(path: &Path, what: &str, read: impl FnOnce(File) -> Result<T>) -> Result<T> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    guarded(|| read(file)).map_err(|error| {
        let error = error.to_string();
        let line = error.lines().next().unwrap_or_default();
        format!("{}: not a whole {what}: {line}", path.display()).into()
    })
}

/// Turns a panic of the library, which happens on pages that contradict themselves, into an error.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    thread_local!(static GUARDED: Cell<bool> = const { Cell::new(false) });
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            if !GUARDED.get() {
                usual(what);
            }
        }));
    });
    GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    result.unwrap_or_else(|_| Err("its pages contradict themselves".into()))
}

fn read(file: File) -> Result<Record> {
    let bytes = i64::try_from(file.metadata()?.len())?;
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata();
    let text = metadata.key_value_metadata().into_iter().flatten().find(|pair| pair.key == KEY);
    let text = text.and_then(|pair| pair.value.as_deref()).ok_or_else(|| {
        let exact = metadata.key_value_metadata().into_iter().flatten().any(|pair| pair.key == exact::record::KEY);
        match exact {
            true => "it counts instructions: `tacet noise exact --record` shows it".to_owned(),
            false => format!("it has no `{KEY}` in its footer"),
        }
    })?;
    let schema = serde_json::from_str::<serde_json::Value>(text)?.get("schema").and_then(|schema| schema.as_u64());
    if schema != Some(u64::from(SCHEMA)) {
        return Err(format!("its schema is {}", schema.map_or("missing".into(), |schema| schema.to_string())).into());
    }
    let about: About = serde_json::from_str(text)?;
    let columns = metadata.schema_descr().columns();
    let named: Vec<_> = COLUMNS.iter().chain(ACROSS_COLUMNS.iter().filter(|_| about.across.is_some())).collect();
    let expected = columns.len() == named.len()
        && columns.iter().zip(named).all(|(column, &(name, physical))| {
            column.name() == name && column.physical_type() == physical && column.max_def_level() == 0
        });
    if !expected {
        return Err("it has other columns".into());
    }
    if !(0..=ROWS_LIMIT).contains(&metadata.num_rows()) {
        return Err(format!("it has {} rows", metadata.num_rows()).into());
    }
    offsets_are_inside(reader.metadata().row_groups(), bytes)?;
    let mut samples = Samples::default();
    for group in 0..reader.num_row_groups() {
        read_rows(&*reader.get_row_group(group)?, about.across.as_ref(), &mut samples)?;
    }
    check(&about, &samples)?;
    Ok(Record { about, samples })
}

/// Checks that the footer names offsets within the file, and as many values as rows: the library trusts both.
pub(crate) fn offsets_are_inside(groups: &[RowGroupMetaData], bytes: i64) -> Result<()> {
    for group in groups {
        for column in group.columns() {
            let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = begin.checked_add(column.compressed_size());
            let inside = begin >= 0 && column.compressed_size() >= 0 && end.is_some_and(|end| end <= bytes);
            if !inside || column.data_page_offset() < begin || column.num_values() != group.num_rows() {
                return Err("its footer does not fit the file".into());
            }
        }
    }
    Ok(())
}

fn read_rows(group: &dyn RowGroupReader, across: Option<&Across>, samples: &mut Samples) -> Result<()> {
    let mut cpu = column(group, 0)?;
    if let Some(across) = across {
        cpu = placed(group, across, cpu)?;
    }
    samples.cpu.extend(cpu.drain(..).map(|cpu| cpu as u32));
    for (index, into) in [(1, &mut samples.start_ns), (2, &mut samples.length_ns), (3, &mut samples.work_units)] {
        into.extend(column(group, index)?.into_iter().map(|value| value as u64));
    }
    Ok(())
}

/// Replaces the CPU of rows from many nodes by the index of their place. A row group is one core.
fn placed(group: &dyn RowGroupReader, across: &Across, cpus: Vec<i64>) -> Result<Vec<i64>> {
    let [runs, ranks, nodes] = [column(group, 4)?, column(group, 5)?, column(group, 6)?];
    let Some(first) = cpus.first() else { return Ok(Vec::new()) };
    let said = [Some(first), runs.first(), ranks.first(), nodes.first()];
    let of_first = |place: &super::across::Place| {
        [place.cpu, place.run, place.rank, place.node].map(i64::from).iter().map(Some).eq(said)
    };
    let index = across.places.iter().position(of_first).ok_or("it has rows of an unknown core")?;
    let same = |column: &[i64]| column.len() == cpus.len() && column.iter().all(|value| Some(value) == column.first());
    if ![&cpus, &runs, &ranks, &nodes].iter().all(|column| same(column)) {
        return Err("it has rows of several cores in one group".into());
    }
    Ok(vec![index as i64; cpus.len()])
}

/// All values of one column of one row group.
pub(crate) fn column(group: &dyn RowGroupReader, index: usize) -> Result<Vec<i64>> {
    let mut values = Vec::new();
    match group.get_column_reader(index)? {
        ColumnReader::Int32ColumnReader(mut reader) => {
            let mut narrow = Vec::new();
            while reader.read_records(BATCH, None, None, &mut narrow)?.0 > 0 {
                values.extend(narrow.drain(..).map(i64::from));
            }
        }
        ColumnReader::Int64ColumnReader(mut reader) => {
            while reader.read_records(BATCH, None, None, &mut values)?.0 > 0 {}
        }
        _ => return Err("a column has another type".into()),
    }
    Ok(values)
}

/// Checks everything on which the statistics rely.
fn check(about: &About, samples: &Samples) -> Result<()> {
    let rows = samples.cpu.len();
    if [&samples.start_ns, &samples.length_ns, &samples.work_units].iter().any(|column| column.len() != rows) {
        return Err("its columns differ in length".into());
    }
    let runs = samples.by_cpu();
    let mut cpus: Vec<u32> = runs.iter().map(|(cpu, _)| *cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() != runs.len() || cpus.iter().any(|cpu| !about.cpus.contains(cpu)) {
        return Err("its rows do not match its list of CPUs".into());
    }
    let limit = i64::MAX as u64;
    if samples.start_ns.iter().chain(&samples.length_ns).chain(&samples.work_units).any(|value| *value > limit) {
        return Err("it has a negative number".into());
    }
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if !positive(about.ticks_per_second) || !positive(about.quantum_ns) || about.counters.len() != about.cpus.len() {
        return Err("its description is not valid".into());
    }
    match &about.across {
        Some(across) if !is_sound(across, &about.cpus) => Err("its description of the nodes is not valid".into()),
        _ => Ok(()),
    }
}

fn is_sound(across: &Across, cpus: &[u32]) -> bool {
    let samples = across.runs.iter().try_fold(0u64, |sum, run| sum.checked_add(run.ranks.checked_mul(run.samples)?));
    across.histogram.is_sound()
        && samples == Some(across.histogram.total())
        && across.places.len() == cpus.len()
        && cpus.iter().enumerate().all(|(index, cpu)| *cpu as usize == index)
        && across.noise_rate.is_finite()
        && across.noise_rate >= 0.0
}

#[cfg(test)]
mod tests {
    use super::super::examples::fixed_work;
    use super::*;

    #[test]
    fn a_written_record_can_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.parquet");
        let mut record = fixed_work(&[1_000_000, 1_000_003, 1_020_000]);
        record.about.cpus = vec![0, 3];
        record.about.counters.push(crate::record::Counters { cpu: 3, ..Default::default() });
        let second = fixed_work(&[5, 6]).samples;
        record.samples.cpu.extend([3, 3]);
        record.samples.start_ns.extend(second.start_ns);
        record.samples.length_ns.extend(second.length_ns);
        record.samples.work_units.extend(second.work_units);
        record.write(&path).expect("written");
        assert_eq!(Record::read(&path).expect("read"), record);
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1, "nothing else is left");
    }

    /// Truncated files are refused in one line; files with a changed byte are refused in one line or are records.
    #[test]
    fn damaged_files_are_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.parquet");
        fixed_work(&[10, 11, 12, 13]).write(&path).expect("written");
        let whole = std::fs::read(&path).expect("read");
        let mut refused = 0;
        let mut judge = |bytes: &[u8], must_fail: bool| {
            std::fs::write(&path, bytes).expect("rewritten");
            match Record::read(&path) {
                Ok(_) => assert!(!must_fail),
                Err(error) => {
                    assert_eq!(error.to_string().lines().count(), 1, "{error}");
                    assert!(error.to_string().contains("a.parquet"), "{error}");
                    refused += 1;
                }
            }
        };
        for length in 0..whole.len() {
            judge(&whole[..length], true);
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            judge(&bytes, false);
        }
        let mut state = 1u64;
        for _ in 0..1500 {
            let mut bytes = whole.clone();
            for _ in 0..4 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 20) as u8;
            }
            judge(&bytes, false);
        }
        judge(b"PAR1 is not enough PAR1", true);
        assert!(refused > whole.len(), "{refused} of {}", 2 * whole.len());
    }
}

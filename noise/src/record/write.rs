// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes a record. An existing file stays unchanged until the new one is complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as Physical};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::{KEY, Record};
use crate::Result;

pub const COLUMNS: [(&str, Physical); 4] = [
    ("cpu", Physical::INT32),
    ("start_ns", Physical::INT64),
    ("length_ns", Physical::INT64),
    ("work_units", Physical::INT64),
];

/// Additional columns of a record from many nodes, after [`COLUMNS`].
pub const ACROSS_COLUMNS: [(&str, Physical); 3] =
    [("run", Physical::INT32), ("rank", Physical::INT32), ("node", Physical::INT32)];

pub fn schema(across: bool) -> Result<Type> {
    let column = |(name, physical): &(&str, Physical)| {
        let column = Type::primitive_type_builder(name, *physical).with_repetition(Repetition::REQUIRED);
        column.build().map(Arc::new)
    };
    let fields = COLUMNS
        .iter()
        .chain(ACROSS_COLUMNS.iter().filter(|_| across))
        .map(column)
        .collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Type::group_type_builder("samples").with_fields(fields).build()?)
}

/// The temporary file beside the target.
pub(crate) fn partial(path: &Path) -> PathBuf {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    partial.into()
}

/// Writes a file beside the old one and then renames it over the old one.
pub(crate) fn whole_or_nothing(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let partial = partial(path);
    let done = write(&partial).and_then(|()| Ok(fs::rename(&partial, path)?));
    if done.is_err() {
        let _ = fs::remove_file(&partial);
    }
    done.map_err(|error| format!("{}: cannot write the record: {error}", path.display()).into())
}

impl Record {
    /// Writes the record to `path`, completely or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        whole_or_nothing(path, |path| self.write_to(path))
    }

    fn write_to(&self, path: &Path) -> Result<()> {
        let delta = |name: &str| ColumnPath::from(name.to_owned());
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(vec![KeyValue::new(KEY.to_owned(), serde_json::to_string(&self.about)?)]));
        for name in ["start_ns", "length_ns"] {
            properties = properties
                .set_column_dictionary_enabled(delta(name), false)
                .set_column_encoding(delta(name), Encoding::DELTA_BINARY_PACKED);
        }
        let file = File::create(path)?;
        let mut writer = SerializedFileWriter::new(
            &file,
            Arc::new(schema(self.about.across.is_some())?),
            Arc::new(properties.build()),
        )?;
        for (cpu, rows) in self.samples.by_cpu() {
            self.write_rows(writer.next_row_group()?, cpu, rows)?;
        }
        writer.close()?;
        Ok(file.sync_all()?)
    }

    /// Writes the rows of one CPU, which are one row group.
    fn write_rows(
        &self,
        mut group: SerializedRowGroupWriter<'_, &File>,
        cpu: u32,
        rows: std::ops::Range<usize>,
    ) -> Result<()> {
        let samples = &self.samples;
        let place = match &self.about.across {
            Some(across) => Some(across.places.get(cpu as usize).ok_or("a core has no entry in the list of places")?),
            None => None,
        };
        constant(&mut group, place.map_or(cpu, |place| place.cpu), rows.len())?;
        for values in [&samples.start_ns, &samples.length_ns, &samples.work_units] {
            let values: Vec<i64> = values[rows.clone()].iter().map(|value| *value as i64).collect();
            let mut column = group.next_column()?.ok_or("no column")?;
            column.typed::<Int64Type>().write_batch(&values, None, None)?;
            column.close()?;
        }
        if let Some(place) = place {
            for number in [place.run, place.rank, place.node] {
                constant(&mut group, number, rows.len())?;
            }
        }
        group.close()?;
        Ok(())
    }
}

/// Writes a column with the same number in each row.
fn constant(group: &mut SerializedRowGroupWriter<'_, &File>, number: u32, rows: usize) -> Result<()> {
    let mut column = group.next_column()?.ok_or("no column")?;
    column.typed::<Int32Type>().write_batch(&vec![number as i32; rows], None, None)?;
    Ok(column.close().map(|_| ())?)
}

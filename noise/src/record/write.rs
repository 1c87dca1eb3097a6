// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes a record; a file that is there already stays as it was until the new one is whole.

use std::fs::{self, File};
use std::path::Path;
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

pub fn schema() -> Result<Type> {
    let column = |(name, physical): &(&str, Physical)| {
        let column = Type::primitive_type_builder(name, *physical).with_repetition(Repetition::REQUIRED);
        column.build().map(Arc::new)
    };
    let fields = COLUMNS.iter().map(column).collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Type::group_type_builder("samples").with_fields(fields).build()?)
}

impl Record {
    /// Writes it to `path`, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let done = self.write_to(Path::new(&partial)).and_then(|()| Ok(fs::rename(&partial, path)?));
        if done.is_err() {
            let _ = fs::remove_file(&partial);
        }
        done.map_err(|error| format!("{}: cannot write the record: {error}", path.display()).into())
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
        let mut writer = SerializedFileWriter::new(&file, Arc::new(schema()?), Arc::new(properties.build()))?;
        for (_, rows) in self.samples.by_cpu() {
            self.write_rows(writer.next_row_group()?, rows)?;
        }
        writer.close()?;
        Ok(file.sync_all()?)
    }

    /// One CPU is one row group.
    fn write_rows(&self, mut group: SerializedRowGroupWriter<'_, &File>, rows: std::ops::Range<usize>) -> Result<()> {
        let samples = &self.samples;
        let cpu: Vec<i32> = samples.cpu[rows.clone()].iter().map(|cpu| *cpu as i32).collect();
        let mut column = group.next_column()?.ok_or("no column")?;
        column.typed::<Int32Type>().write_batch(&cpu, None, None)?;
        column.close()?;
        for values in [&samples.start_ns, &samples.length_ns, &samples.work_units] {
            let values: Vec<i64> = values[rows.clone()].iter().map(|value| *value as i64).collect();
            let mut column = group.next_column()?.ok_or("no column")?;
            column.typed::<Int64Type>().write_batch(&values, None, None)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of all ranks, a file beside the record: a row for each rank of each run, a row group for each run.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::{Row, RunFile};
use crate::Result;
use crate::record::whole_or_nothing;

/// `run`, `rank` and `node` have the same meaning as in the record.
const INTEGERS: [&str; 8] =
    ["run", "rank", "node", "cpu", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"];
const LONGS: [&str; 4] = ["shortest_ns", "longest_ns", "max_noise_ns", "run_ns"];

/// Writes the table completely or not at all.
pub fn write_ranks(runs: &[RunFile], path: &Path) -> Result<()> {
    whole_or_nothing(path, |partial| {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let file = File::create(partial)?;
        let mut writer = SerializedFileWriter::new(&file, Arc::new(schema()?), Arc::new(properties))?;
        for (number, run) in runs.iter().enumerate() {
            write_run(writer.next_row_group()?, number as u32, &run.rows)?;
        }
        writer.close()?;
        Ok(file.sync_all()?)
    })
}

fn schema() -> Result<Type> {
    let column = |name: &str, physical, logical| {
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let integers = INTEGERS.iter().map(|name| column(name, Physical::INT32, None));
    let longs = LONGS.iter().map(|name| column(name, Physical::INT64, None));
    let others =
        [column("noise_rate", Physical::DOUBLE, None), column("host", Physical::BYTE_ARRAY, Some(LogicalType::String))];
    let fields = integers.chain(longs).chain(others).collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Type::group_type_builder("ranks").with_fields(fields).build()?)
}

fn write_run(mut group: SerializedRowGroupWriter<'_, &File>, run: u32, rows: &[Row]) -> Result<()> {
    let integers: [fn(&Row) -> u32; 7] = [
        |row| row.rank,
        |row| row.node,
        |row| row.cpu,
        |row| row.voluntary_switches,
        |row| row.involuntary_switches,
        |row| row.minor_faults,
        |row| row.major_faults,
    ];
    let longs: [fn(&Row) -> u64; 4] =
        [|row| row.shortest_ns, |row| row.longest_ns, |row| row.longest_ns - row.shortest_ns, |row| row.run_ns];
    put::<Int32Type>(&mut group, vec![run as i32; rows.len()])?;
    for of in integers {
        put::<Int32Type>(&mut group, rows.iter().map(|row| of(row) as i32).collect())?;
    }
    for of in longs {
        put::<Int64Type>(&mut group, rows.iter().map(|row| of(row) as i64).collect())?;
    }
    put::<DoubleType>(&mut group, rows.iter().map(|row| row.noise_rate).collect())?;
    put::<ByteArrayType>(&mut group, rows.iter().map(|row| ByteArray::from(row.host.as_str())).collect())?;
    group.close()?;
    Ok(())
}

fn put<T: DataType>(group: &mut SerializedRowGroupWriter<'_, &File>, values: Vec<T::T>) -> Result<()> {
    let mut column = group.next_column()?.ok_or("no column")?;
    column.typed::<T>().write_batch(&values, None, None)?;
    Ok(column.close().map(|_| ())?)
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tacet's library for programs: the requests on `/dev/tacet`, the machine's description in sysfs, loading the module,
//! and checking whether this machine can run it.
//!
//! Called by the `tacet` command, by tests and by other tools. It prints nothing: every result is a value that `serde`
//! can write, every failure an [`Error`] of one line. It must not define structures of the border; they come from
//! `tacet-abi`.

mod attend;
pub mod compaction;
mod costs;
mod cpu_set;
mod device;
pub mod doctor;
mod error;
mod facts;
mod hints;
mod image;
mod interrupted;
mod isolation;
pub mod jobs;
mod log;
mod machine;
mod module;
mod pico;
mod plan;
mod rank;
mod raw;
mod run;
pub mod seats;
mod size;
mod waiting;

pub use attend::{Attended, attend};
pub use costs::{Cost, Profile, SpentOn};
pub use cpu_set::CpuSet;
pub use device::{DEVICE, Device, HostOptions};
pub use error::{Error, Result};
pub use facts::{
    Clock, ClockControl, CpuMode, CpuState, CpuStatus, Foreign, NodeMemory, PartitionState, Place, Status, Thread,
};
pub use image::{Image, find_image};
pub use interrupted::Interrupted;
pub use isolation::{Bug, Isolation, Measures, decide};
pub use log::{LogEntry, LogLevel, LogReader, LogSource};
pub use machine::{Machine, installation};
pub use module::{Loading, Module};
pub use pico::{Device as PicoDevice, DeviceState, Grant, Pico, Queue};
pub use plan::{Plan, PlanRequest};
pub use rank::Rank;
pub use run::execute;
pub use size::{format_bytes, parse_bytes, round_up_to_large_page};
pub use waiting::until_free;

/// The exit statuses of the family.
pub use tacet_words::status;

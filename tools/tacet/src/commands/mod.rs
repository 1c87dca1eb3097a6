// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The subcommands, one file each.

mod beside;
mod cluster;
mod compare;
mod decouple;
mod doctor;
mod down;
mod family;
mod generate;
mod job;
mod kept;
mod log;
mod node;
mod node_error;
mod node_guest;
mod node_run;
mod pico;
mod profile;
mod ps;
mod resize;
mod run;
mod static_nodes;
mod status;
mod top;
mod up;

pub use beside::{beside, program};
pub use compare::compare;
pub use decouple::{decouple, recouple};
pub use doctor::{doctor, doctor_of_slurm};
pub use down::down;
pub use family::{describe, elsewhere, help};
pub use generate::{completions, man};
pub use job::job;
pub use log::log;
pub use node::node;
pub use pico::pico;
pub use ps::ps;
pub use resize::{grow, shrink};
pub use run::run;
pub use static_nodes::{iod, static_nodes};
pub use status::status;
pub use top::top;
pub use up::up;

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Marshalling, both ends: what the node sends is what the proxy sees, and back.

mod each_call;
mod fuzz;
mod pieces;
mod refused;
mod sockets;
mod support;

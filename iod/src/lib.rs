// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Performs, on a Linux node, the system calls of nodes without Linux.
#![deny(unsafe_op_in_unsafe_fn)]

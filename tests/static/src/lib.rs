// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on emulated nodes without Linux.
#![forbid(unsafe_code)]

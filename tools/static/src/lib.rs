// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starts nodes without Linux and runs jobs on them.
#![forbid(unsafe_code)]

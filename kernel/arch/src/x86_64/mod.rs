// SPDX-License-Identifier: Apache-2.0 OR MIT
//! x86-64.

pub mod paging;

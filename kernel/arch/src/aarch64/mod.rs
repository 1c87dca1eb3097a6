// SPDX-License-Identifier: Apache-2.0 OR MIT
//! aarch64: so far the encoding of page-table entries alone.

pub mod paging;

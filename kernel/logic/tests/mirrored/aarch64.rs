// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that changes its tables and Linux that mirrors a page, with the entries of aarch64.

mod interleavings;

use tacet_arch::aarch64::paging::Entries;

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that changes its tables and Linux that mirrors a page, with the entries of x86-64.

mod interleavings;

use tacet_arch::x86_64::paging::Entries;

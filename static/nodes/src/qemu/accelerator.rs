// SPDX-License-Identifier: Apache-2.0 OR MIT
//! KVM or emulation for a set of nodes: the question to the one decision of `tacet_node`, in this crate's words.
//!
//! Called by the keeper, and by `--dry-run`, which tries nothing.

use tacet_ctl::Result;
use tacet_node::accelerator::{Choice, Host, choose, foresee as node_foresee};
use tacet_node::{Cache, Qemu};

use super::node::from_node;
use crate::spec::{Accelerator, Spec};

/// Whether the nodes of this description are executed by KVM, and why. May try KVM, which takes seconds.
pub fn with_kvm(spec: &Spec, qemu: &Qemu) -> Result<Choice> {
    choose(wanted(spec), &host(spec, qemu)).map_err(from_node)
}

/// The same without a trial.
pub fn foresee(spec: &Spec, qemu: &Qemu) -> Result<Choice> {
    node_foresee(wanted(spec), &host(spec, qemu)).map_err(from_node)
}

/// KVM failed these nodes, though the trial had succeeded.
pub fn distrust_kvm(spec: &Spec, qemu: &Qemu, why: &str) {
    host(spec, qemu).distrust(why);
}

fn host(spec: &Spec, qemu: &Qemu) -> Host {
    Host::here(Cache::open().ok().as_ref(), &[qemu.program(), &spec.image])
}

fn wanted(spec: &Spec) -> tacet_node::Accelerator {
    match spec.accelerator {
        Accelerator::Auto => tacet_node::Accelerator::Auto,
        Accelerator::Kvm => tacet_node::Accelerator::Kvm,
        Accelerator::Tcg => tacet_node::Accelerator::Tcg,
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors of `tacet-node` as those of this command.

use tacet_ctl::Error;

/// The same object, cause and remedy, as an error of this command.
pub(super) fn from_node(error: tacet_node::Error) -> Error {
    let text = error.to_string();
    let front = format!("{}: {}", error.object(), error.cause());
    let remedy = text.strip_prefix(&front).unwrap_or("").trim_start_matches("; ");
    Error::new(error.object(), error.cause(), remedy)
}

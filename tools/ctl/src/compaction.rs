// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps Linux from moving locked pages for compaction while a partition is up.
//!
//! Each such move interrupts the core whose program owns the page. Linux has a switch for this, made for real-time
//! programs: `vm.compact_unevictable_allowed`. Called by `tacet up` and `tacet down`. The old value is saved before the
//! switch is changed, so that any later `tacet down` can restore it. It is saved in a directory that a reboot empties,
//! because a reboot also resets the switch.

use std::io::ErrorKind;
use std::path::Path;

use crate::{Error, Machine, Result};

const SWITCH: &str = "proc/sys/vm/compact_unevictable_allowed";
const REMEMBERED: &str = "run/tacet/compact_unevictable_allowed";
const REMEDY: &str = "run it as root";

/// Turns the switch off. A kernel without the switch does not compact at all.
pub fn keep_locked_pages(machine: &Machine) -> Result<()> {
    let Some(found) = machine.text(SWITCH) else { return Ok(()) };
    if found == "0" {
        return Ok(());
    }
    let remembered = machine.path(REMEMBERED);
    if let Some(directory) = remembered.parent() {
        std::fs::create_dir_all(directory).map_err(|io| Error::io(directory.display(), &io, REMEDY))?;
    }
    write(&remembered, &found)?;
    write(&machine.path(SWITCH), "0")
}

/// Undoes [`keep_locked_pages`]; does nothing if that changed nothing.
pub fn let_locked_pages_move(machine: &Machine) -> Result<()> {
    let Some(found) = machine.text(REMEMBERED) else { return Ok(()) };
    write(&machine.path(SWITCH), &found)?;
    match std::fs::remove_file(machine.path(REMEMBERED)) {
        Err(io) if io.kind() != ErrorKind::NotFound => Err(Error::io(format!("/{REMEMBERED}"), &io, REMEDY)),
        _ => Ok(()),
    }
}

fn write(path: &Path, value: &str) -> Result<()> {
    std::fs::write(path, value).map_err(|io| Error::io(path.display(), &io, REMEDY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, value: Option<&str>) -> Machine {
        let root = std::env::temp_dir().join(format!("tacet-compaction-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("proc/sys/vm")).unwrap();
        if let Some(value) = value {
            std::fs::write(root.join(SWITCH), value).unwrap();
        }
        Machine::at(root)
    }

    #[test]
    fn what_was_found_comes_back() {
        let machine = machine("back", Some("1\n"));
        keep_locked_pages(&machine).unwrap();
        assert_eq!(machine.text(SWITCH).as_deref(), Some("0"));
        // a second start, say after the first one was killed, must not save our own value as the site's
        keep_locked_pages(&machine).unwrap();
        let_locked_pages_move(&machine).unwrap();
        assert_eq!(machine.text(SWITCH).as_deref(), Some("1"));
        assert!(!machine.exists(REMEMBERED));
    }

    #[test]
    fn a_switch_that_is_off_or_missing_is_left_alone() {
        for value in [Some("0\n"), None] {
            let machine = machine("alone", value);
            keep_locked_pages(&machine).unwrap();
            let_locked_pages_move(&machine).unwrap();
            assert_eq!(machine.text(SWITCH), value.map(|text| text.trim().to_owned()));
            assert!(!machine.exists(REMEMBERED));
        }
    }
}

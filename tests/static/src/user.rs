// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of `tests/user` print the same on Linux and on a node; what a node refuses by design fails there with the
//! expected error, so that no line of the table in `user_table.rs` outlives its reason.
//!
//! A whole program prints what its `.expected` file says, as on a hosted CPU. Parts of one are compared with Linux.

use std::fs;

use crate::Result;
use crate::case::{Case, Same, Work};
use crate::nodes::Nodes;
use crate::place::{top, user_program};
use crate::user_table::{Fails, PROGRAMS, Program, Runs};

pub fn cases() -> Vec<Case> {
    PROGRAMS.iter().flat_map(cases_of).collect()
}

fn cases_of(program: &'static Program) -> Vec<Case> {
    let mut cases = Vec::new();
    match program.runs {
        Runs::Whole(flags) => cases.push(whole(program.name).flags(flags)),
        Runs::Rest => {
            let others = program.alone.iter().chain(program.differs.iter().map(|differs| &differs.parts));
            let others: Vec<&str> = others.copied().collect();
            let parts = format!("-{}", others.join(","));
            cases.push(some(program.name, "", &parts).environment(&[("TEST_PARTS", &parts)]).succeeds());
        }
        Runs::Nothing => {}
    }
    for part in program.alone {
        let variables = [("TEST_PARTS", *part), ("TEST_ALONE", "1")];
        cases.push(some(program.name, &format!(" alone: {part}"), part).environment(&variables));
    }
    if program.differs.iter().any(|differs| differs.fails != Fails::NotTried) {
        cases.push(Case::shared(format!("user {} differs", program.name), |nodes| differences(program, nodes)).more());
    }
    cases
}

fn whole(name: &str) -> Case {
    let said = fs::read(top().join(format!("tests/user/{name}.expected"))).unwrap_or_default();
    some(name, "", "").expect(said, 0)
}

fn some(name: &str, title: &str, parts: &str) -> Case {
    debug_assert!(!parts.contains(", "), "parts are separated by commas alone");
    Case::same(format!("user {name}{title}"), &[&user_program(name)]).apart()
}

/// Each part that the node has in another way fails there as the table says.
fn differences(program: &Program, nodes: &Nodes) -> Result<()> {
    for differs in program.differs {
        let case = some(program.name, "", differs.parts);
        let Work::Same(mut same) = case.work else { continue };
        if !differs.parts.is_empty() {
            same.environment = vec![("TEST_PARTS".into(), differs.parts.into())];
        }
        fails_as(&differs.fails, &same, nodes).map_err(|why| format!("{} ({}): {why}", differs.parts, differs.why))?;
    }
    Ok(())
}

fn fails_as(fails: &Fails, same: &Same, nodes: &Nodes) -> Result<()> {
    let (status, words) = match *fails {
        Fails::NotTried => return Ok(()),
        Fails::Check(words) => (1, words),
        Fails::Signal(signal, words) => (128 + signal, words),
    };
    let ended = same.run(&mut nodes.run(&[], &same.words))?;
    let said = ended.text() + &ended.error_text();
    if ended.status == status && said.contains(words) {
        return Ok(());
    }
    Err(format!("status {} instead of {status}, expected `{words}`: {said}", ended.status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn sources() -> BTreeSet<String> {
        let entries = fs::read_dir(top().join("tests/user")).expect("the programs");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
        names.filter_map(|name| name.strip_suffix(".c").map(str::to_owned)).collect()
    }

    #[test]
    fn the_table_has_every_program_once() {
        let names: Vec<String> = PROGRAMS.iter().map(|program| program.name.to_owned()).collect();
        let set: BTreeSet<String> = names.iter().cloned().collect();
        assert_eq!(set.len(), names.len(), "a program has two rows");
        assert_eq!(set, sources(), "each program of tests/user is run or has a reason");
    }

    #[test]
    fn the_parts_are_parts_of_the_programs() {
        for program in PROGRAMS {
            let source = fs::read_to_string(top().join(format!("tests/user/{}.c", program.name))).expect("a source");
            let main = source.split_once("\nint main").expect("main").1;
            let named = |part: &str| {
                main.contains(&format!("PART({part})"))
                    || main.contains(&format!("CHILD({part},"))
                    || main.contains(&format!("\"{part}\""))
            };
            let parts = program.differs.iter().flat_map(|differs| differs.parts.split(','));
            for part in program.alone.iter().copied().chain(parts).filter(|part| !part.is_empty()) {
                assert!(named(part), "{} has no part {part}", program.name);
            }
        }
    }

    #[test]
    fn a_program_that_does_not_run_has_a_reason() {
        for program in PROGRAMS {
            let whole = matches!(program.runs, Runs::Whole(_));
            assert_eq!(program.differs.is_empty() && program.alone.is_empty(), whole, "{}", program.name);
            assert!(program.differs.iter().all(|differs| !differs.why.is_empty()), "{}", program.name);
        }
    }
}

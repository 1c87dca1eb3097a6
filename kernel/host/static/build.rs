// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes the dispatch of the calls that a static node answers by itself, from the static column of `abi/syscalls.tbl`:
//! a row that says `local` is the function of that name, a row that says `escape` needs the thread's registers.

use std::fmt::Write;
use std::{env, fs};

fn main() {
    let table = env::var("CARGO_MANIFEST_DIR").expect("cargo gives it") + "/../../../abi/syscalls.tbl";
    println!("cargo:rerun-if-changed={table}");
    let text = fs::read_to_string(&table).unwrap_or_else(|error| panic!("{table}: {error}"));
    let mut arms = String::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.splitn(5, '\t').collect();
        let [_, name, _, column, _] = columns[..] else { panic!("{table}: {line}: not five columns") };
        let constant = name.to_uppercase();
        for word in column.split("; ") {
            let (word, ints) = word.strip_prefix("local int ").map_or((word, ""), |ints| ("local", ints));
            let ints: Vec<usize> = ints.split_terminator(' ').map(|int| place(int).expect("an argument")).collect();
            match word {
                "local" if ints.is_empty() => {
                    writeln!(arms, "            number::{constant} => self.{name}(subject, arguments).into(),")
                }
                "local" => writeln!(
                    arms,
                    "            number::{constant} => self.{name}(subject, &with_ints(arguments, &{ints:?})).into(),"
                ),
                "escape" => writeln!(arms, "            number::{constant} => Local::Answer(Answer::Escape),"),
                _ => continue,
            }
            .expect("a string takes all");
        }
    }
    let made = format!(
        "impl StaticHost {{\n    fn answer_local(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Local {{\n        match number {{\n{arms}            _ => Local::Ship,\n        }}\n    }}\n}}\n"
    );
    let out = env::var("OUT_DIR").expect("cargo gives it") + "/dispatch.rs";
    fs::write(&out, made).unwrap_or_else(|error| panic!("{out}: {error}"));
}

/// The table counts from 1.
fn place(int: &str) -> Option<usize> {
    int.strip_prefix('#')?.parse::<usize>().ok()?.checked_sub(1)
}

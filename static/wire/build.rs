// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes the table of calls from `abi/syscalls.tbl`: its fourth column says what a static node does with a call,
//! and of which kinds the arguments of a shipped call are. And the names of all calls' numbers.

use std::fmt::Write;
use std::{env, fs};

fn main() {
    let table = env::var("CARGO_MANIFEST_DIR").expect("cargo gives it") + "/../../abi/syscalls.tbl";
    println!("cargo:rerun-if-changed={table}");
    let text = fs::read_to_string(&table).unwrap_or_else(|error| panic!("{table}: {error}"));
    let mut dispositions = vec!["Disposition::Refuse(Errno::ENOSYS)".to_owned()];
    let mut of_call: Vec<usize> = vec![];
    let mut names = String::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.splitn(5, '\t').collect();
        let [number, name, _, column, _] = columns[..] else { panic!("{table}: {line}: not five columns") };
        let number: usize = number.parse().unwrap_or_else(|_| panic!("{table}: {line}: no number"));
        writeln!(names, "    pub const {}: u64 = {number};", name.to_uppercase()).expect("a string takes all");
        let disposition = disposition(column).unwrap_or_else(|| panic!("{table}: {line}: `{column}` is not known"));
        let index = dispositions.iter().position(|known| *known == disposition).unwrap_or_else(|| {
            dispositions.push(disposition);
            dispositions.len() - 1
        });
        of_call.resize(of_call.len().max(number + 1), 0);
        of_call[number] = index;
    }
    let mut made = String::new();
    writeln!(made, "static DISPOSITIONS: [Disposition; {}] = [", dispositions.len()).expect("a string takes all");
    for disposition in &dispositions {
        writeln!(made, "    {disposition},").expect("a string takes all");
    }
    writeln!(made, "];\nstatic OF_CALL: [u8; {}] = {of_call:?};", of_call.len()).expect("a string takes all");
    write!(made, "/// Numbers of system calls, by name.\npub mod number {{\n{names}}}\n").expect("a string takes all");
    let out = env::var("OUT_DIR").expect("cargo gives it") + "/calls.rs";
    fs::write(&out, made).unwrap_or_else(|error| panic!("{out}: {error}"));
}

/// What becomes of a call that neither the core nor the node's own functions answer, which come before.
fn disposition(column: &str) -> Option<String> {
    let last = column.rsplit("; ").next()?;
    if last.split(' ').next().is_some_and(|word| ["core", "local", "escape"].contains(&word)) {
        return Some("Disposition::Local".to_owned());
    }
    let (word, inner) = last.strip_suffix(')')?.split_once('(')?;
    match word {
        "refuse" => Some(format!("Disposition::Refuse(Errno::{inner})")),
        "ship" => {
            let kinds: Option<Vec<String>> = inner.split(", ").filter(|kind| !kind.is_empty()).map(kind).collect();
            Some(format!("Disposition::Ship(&[{}])", kinds?.join(", ")))
        }
        _ => None,
    }
}

fn kind(text: &str) -> Option<String> {
    let (word, rest) = text.rsplit_once(' ').filter(|(_, rest)| !["in", "out"].contains(rest)).unwrap_or((text, ""));
    let prefixed = ["bits", "int"].iter().find_map(|mark| Some((word.strip_suffix(mark)?.trim_end(), mark)));
    let (word, rest) = prefixed.map_or((word, rest.to_owned()), |(word, mark)| (word, format!("{mark} {rest}")));
    let of_size = |name| Some(format!("Kind::{name}({})", size(&rest)?));
    let of_argument = |name| Some(format!("Kind::{name}({})", argument(rest.strip_prefix('#')?)?));
    let plain = |name| rest.is_empty().then(|| format!("Kind::{name}"));
    match word {
        "value" => plain("Value"),
        "fd" => plain("Descriptor"),
        "self" => plain("Own"),
        "null" => plain("Null"),
        "text" => plain("Text"),
        "ioctl" => plain("Ioctl"),
        "fcntl" => plain("Fcntl"),
        "message in" => plain("MessageIn"),
        "message out" => plain("MessageOut"),
        "messages in" => plain("MessagesIn"),
        "messages out" => plain("MessagesOut"),
        "in" => of_size("In"),
        "out" => of_size("Out"),
        "inout" => of_size("InOut"),
        "option in" => of_size("OptionIn"),
        "option out" => of_size("OptionOut"),
        "fill" => of_size("Fill"),
        "stream" => of_argument("Stream"),
        "gather" => of_argument("Gather"),
        "scatter" => of_argument("Scatter"),
        _ => None,
    }
}

fn size(text: &str) -> Option<String> {
    if let Some(index) = text.strip_prefix("bits #") {
        return Some(format!("Size::Bits({})", argument(index)?));
    }
    if let Some(index) = text.strip_prefix("int #") {
        return Some(format!("Size::Int({})", argument(index)?));
    }
    if let Some(index) = text.strip_prefix('@') {
        return Some(format!("Size::Pointed({})", argument(index)?));
    }
    if let Some((unit, index)) = text.split_once('#') {
        let unit: u8 = if unit.is_empty() { 1 } else { unit.strip_suffix('*')?.parse().ok()? };
        return Some(format!("Size::Times({unit}, {})", argument(index)?));
    }
    text.parse::<u16>().ok().map(|bytes| format!("Size::Bytes({bytes})"))
}

/// An argument's index; the table counts from 1.
fn argument(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number| (1..=6).contains(number)).map(|number: usize| number - 1)
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The output for people.

mod ablation;
mod alike;
mod outcome;
mod plan;

pub use ablation::{ablation, duration, rate};
pub use outcome::{done, rehearsed, status, verdict};
pub use plan::plan;

use comfy_table::{ContentArrangement, Table, presets};

/// `1 change`, `2 changes`.
pub fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// A table without rules.
fn table(indent: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let indent = " ".repeat(indent);
    table.lines().map(|line| format!("{indent}{}\n", line.trim_end())).collect()
}

/// The full description of a countermeasure.
pub fn about(about: &crate::measures::About) -> String {
    let usual = if about.usual { "yes" } else { "no: ask for it by --with" };
    let number = about.number.map(|n| format!("{}; {} unless given, up to {}", n.what, n.usual, n.largest));
    let rows = [
        ("does", about.does),
        ("stops", about.stops),
        ("costs", about.cost),
        ("applied", about.applied),
        ("checked", about.checked),
        (
            "undone",
            if about.whole {
                "the old value is written back, or the object removed; all or nothing"
            } else {
                "the old value is written back"
            },
        ),
        ("kernels", about.kernels),
        ("boot", about.boot),
        ("source", about.source),
        ("usual", usual),
        ("number", number.as_deref().unwrap_or("none")),
    ];
    let wide =
        rows.iter().map(|(name, text)| format!("{name:8} {}\n", text.split_whitespace().collect::<Vec<_>>().join(" ")));
    let text = format!("{}\n{}", about.name, wide.collect::<String>());
    if text.contains("LIST") { text + "LIST: the application's CPUs; `tacet tune plan` says which\n" } else { text }
}

/// All countermeasures, one line each.
pub fn list() -> String {
    let row = |measure: &&dyn crate::measures::Measure| {
        let about = measure.about();
        let mark = if about.usual { "" } else { "(--with)" };
        vec![about.name.to_owned(), mark.to_owned(), about.does.to_owned()]
    };
    table(0, crate::measures::ALL.iter().map(row))
}

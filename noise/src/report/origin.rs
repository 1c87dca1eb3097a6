// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The origin of a record in one line, which stands under every figure, on the page and in each file.

use crate::measure::machine::cpu_list;
use crate::record::About;
use crate::record::redact::relevant;

/// Host, kernel with the arguments that affect noise, command, CPUs, time source and version.
pub fn origin(about: &About) -> String {
    // A figure has no room for all arguments; the page's table has them.
    let relevant = relevant(&about.kernel_arguments);
    format!(
        "{}: host {}, Linux {}{}, `{}`, CPUs {}, time source {}, tacet {}",
        about.label,
        about.host,
        about.kernel_release,
        if relevant.is_empty() { String::new() } else { format!(" ({relevant})") },
        command(about),
        cpu_list(&about.cpus),
        about.time_source,
        about.version
    )
}

/// The command that measured, quoted for a shell.
pub fn command(about: &About) -> String {
    let plain = |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_=.,/:@".contains(letter));
    let quoted = |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    ["tacet noise".into()].into_iter().chain(about.arguments.iter().map(quoted)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Method;
    use crate::record::examples::about;

    #[test]
    fn a_command_can_be_typed_again() {
        let mut about = about(Method::Fwq, 1);
        about.arguments = ["measure", "--label", "it's mine", "-o", "a.parquet"].map(String::from).to_vec();
        assert_eq!(command(&about), r"tacet noise measure --label 'it'\''s mine' -o a.parquet");
    }

    #[test]
    fn the_origin_has_all_facts() {
        let mut about = about(Method::Fwq, 1);
        about.kernel_arguments = "quiet nohz=off".into();
        let line = origin(&about);
        for word in ["example", "node1", "6.12.0", "(nohz=off)", "`tacet noise measure`", "CPUs 0", "tsc", "tacet 0"] {
            assert!(line.contains(word), "{word}: {line}");
        }
    }
}

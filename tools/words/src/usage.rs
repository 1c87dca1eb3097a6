// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The argument parser's complaints, as one line: the object, what is wrong, what would be right.
//!
//! Called by `tool.rs`. It must never print.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::plain;

/// One line about `error`; `named` is the command that was given, with its subcommands.
pub fn line(error: &clap::Error, named: &str) -> String {
    let said = |kind| error.get(kind).map(text).filter(|text| !text.is_empty());
    let argument = said(ContextKind::InvalidArg).unwrap_or_default();
    let value = said(ContextKind::InvalidValue);
    let cause = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            format!("`{}`: there is no such command", quoted(said(ContextKind::InvalidSubcommand)))
        }
        ErrorKind::UnknownArgument => format!("`{}`: this command has no such argument", quoted(Some(argument))),
        ErrorKind::MissingRequiredArgument => format!("{argument} must be given"),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "no command is given".to_owned()
        }
        ErrorKind::ArgumentConflict => match said(ContextKind::PriorArg) {
            Some(prior) if prior == argument => format!("{argument}: it is given twice"),
            Some(prior) => format!("{argument} and {prior} exclude each other"),
            None => format!("{argument}: it excludes other arguments"),
        },
        ErrorKind::InvalidValue => match (value, said(ContextKind::ValidValue)) {
            (Some(value), Some(valid)) => format!("{argument}: `{value}` is none of {valid}"),
            (Some(value), None) => format!("{argument}: `{value}` is not possible"),
            (None, Some(valid)) => format!("{argument}: give one of {valid}"),
            (None, None) => format!("{argument}: its value is missing"),
        },
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            format!("{argument}: {}", reasoned(&quoted(value), &reason))
        }
        _ => first_paragraph(error),
    };
    let near = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| match error.get(kind)? {
            // the nearest is the last
            ContextValue::Strings(all) => all.last().cloned(),
            other => Some(text(other)),
        });
    let remedy = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
    plain::line(&format!("{cause}; {remedy}see `{named} --help`"))
}

/// The one of `known` that `word` may have meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.8;
    let alike = known.into_iter().map(|other| (strsim::jaro_winkler(word, other), other));
    alike.filter(|(how, _)| *how > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other)
}

/// The reason, with the value in front unless the reason has it.
fn reasoned(value: &str, reason: &str) -> String {
    let reason = plain::line(reason);
    if reason.contains(value) && !value.is_empty() { reason } else { format!("`{value}`: {reason}") }
}

fn quoted(value: Option<String>) -> String {
    value.unwrap_or_default()
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(all) => all.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        ContextValue::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn first_paragraph(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let joined = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    joined.trim_start_matches("error: ").to_owned()
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A C source as far as calls need it: which functions a file defines and which names it mentions.
//!
//! No compiler: comments, texts and `#include` lines are removed, and what is left is read word by word. A head is what
//! stands between two statements outside all braces; the word before its last parentheses is a function's name if a
//! brace follows. Names of structures and of their fields are no mentions of functions; neither is a prototype.

use std::collections::BTreeSet;

/// What one file offers and uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Functions that other files may call: in a `.c` file those that are not static, in a header every function and
    /// every macro with parameters.
    pub offers: BTreeSet<String>,
    /// Its own functions: a mention of one of these is a mention of no other file's.
    pub own: BTreeSet<String>,
    /// Every name in a body, an initializer or a macro.
    pub mentions: BTreeSet<String>,
}

pub fn read(path: &str, text: &str) -> File {
    let mut file = File::default();
    let (code, directives) = parts(text);
    let header = path.ends_with(".h");
    for directive in &directives {
        if let Some(definition) = directive.trim_start_matches('#').trim_start().strip_prefix("define") {
            file.macro_(definition, header);
        }
    }
    file.statements(&tokens(&code), header);
    file
}

impl File {
    fn macro_(&mut self, definition: &str, header: bool) {
        let tokens = tokens(definition.trim_start());
        let Some((name, rest)) = tokens.split_first() else { return };
        if definition.trim_start()[name.len()..].starts_with('(') {
            self.own.insert((*name).to_owned());
            if header {
                self.offers.insert((*name).to_owned());
            }
        }
        self.mention(rest);
    }

    /// From one `;` or body to the next.
    fn statements(&mut self, tokens: &[&str], header: bool) {
        let mut rest = tokens;
        while !rest.is_empty() {
            let end = rest.iter().position(|token| [";", "{"].contains(token)).unwrap_or(rest.len());
            let (head, tail) = rest.split_at(end);
            let body = if tail.first() == Some(&"{") { body(tail) } else { 1.min(tail.len()) };
            let (inside, after) = tail.split_at(body);
            match name_of(head) {
                Some(at) => {
                    self.mention(&head[..at]);
                    self.mention(&head[at + 1..]);
                    if inside.len() > 1 {
                        self.define(head[at], header || !head.contains(&"static"));
                    }
                }
                None => self.mention(head),
            }
            self.mention(inside);
            rest = after;
        }
    }

    fn define(&mut self, name: &str, offered: bool) {
        self.own.insert(name.to_owned());
        if offered {
            self.offers.insert(name.to_owned());
        }
    }

    fn mention(&mut self, tokens: &[&str]) {
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |before| tokens[before]);
            let other = ["struct", "enum", "union", ".", "->", "goto"].contains(&before);
            if is_name(token) && !other {
                self.mentions.insert((*token).to_owned());
            }
        }
    }
}

/// Where in a head the name of a function (or of a macro that declares something) is. Annotations that begin with two
/// underscores may stand before and after.
fn name_of(head: &[&str]) -> Option<usize> {
    let (mut depth, mut found) = (0, None);
    for (at, token) in head.iter().enumerate() {
        match *token {
            "=" if depth == 0 => return None,
            "(" => {
                let name = at.checked_sub(1).map_or("", |before| head[before]);
                if depth == 0 && is_name(name) && !name.starts_with("__") {
                    found = Some(at - 1);
                }
                depth += 1;
            }
            ")" => depth -= 1,
            _ => (),
        }
    }
    found
}

/// How many tokens a body in braces has, with both braces.
fn body(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Names, numbers, `->`, and every other sign by itself.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            '-' if rest.starts_with("->") => 2,
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// The code without comments, texts and preprocessor lines; and those lines, each whole.
fn parts(text: &str) -> (String, Vec<String>) {
    let (mut code, mut directives) = (String::new(), Vec::new());
    let plain = plain(text).replace("\\\n", " ");
    for line in plain.lines() {
        if line.trim_start().starts_with('#') {
            directives.push(line.trim_start().to_owned());
        } else {
            code.push_str(line);
            code.push('\n');
        }
    }
    (code, directives)
}

/// Comments become a blank, texts a number.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("/*") {
            plain.push(' ');
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' || first == '\'' {
            plain.push('0');
            quoted(rest, first)
        } else {
            plain.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    plain
}

/// The length of a text with both its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => (),
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn functions_are_offered_unless_static() {
        let text = "__printf(2, 3) int tacet_a(int x, ...)\n{\n\treturn x;\n}\n\
                    static void b(void)\n{\n}\nvoid tacet_c(void) __must_hold(x)\n{\n}\n\
                    int tacet_prototype(void);\nstruct tacet_d { int e; };\nstatic int f = 3, *g = { 0 };\n";
        let file = read("a.c", text);
        assert_eq!(file.offers, set(&["tacet_a", "tacet_c"]));
        assert_eq!(file.own, set(&["b", "tacet_a", "tacet_c"]));
    }

    #[test]
    fn a_header_offers_its_inline_functions_and_macros() {
        let text = "#define tacet_each(x) \\\n\tfor (x = tacet_first(); x;)\n#define TACET_MAX 4\n\
                    static inline int tacet_in(void)\n{\n\treturn tacet_out();\n}\nint tacet_prototype(void);\n";
        let file = read("a.h", text);
        assert_eq!(file.offers, set(&["tacet_each", "tacet_in"]));
        assert!(file.mentions.contains("tacet_out") && file.mentions.contains("tacet_first"));
        assert!(!file.mentions.contains("tacet_prototype"));
    }

    #[test]
    fn a_call_an_address_and_an_initializer_are_mentions() {
        let text = "static DECLARE_WORK(work, tacet_work);\nstatic struct ops ops = { .open = tacet_open };\n\
                    void f(void)\n{\n\tif (x) { tacet_call(1); }\n\tregister_it(&tacet_address);\n}\n\
                    static void after(void)\n{\n\ttacet_last();\n}\n";
        let mentions = read("a.c", text).mentions;
        for name in ["tacet_work", "tacet_open", "tacet_call", "tacet_address", "tacet_last"] {
            assert!(mentions.contains(name), "{name}");
        }
    }

    #[test]
    fn comments_texts_structures_and_fields_are_no_mentions() {
        let text = "/* tacet_comment() */ // tacet_line()\nvoid f(struct tacet_structure *s)\n{\n\t\
                    say(\"tacet_text(\\\"\", '\"');\n\ts->tacet_field = s->x.tacet_inner;\n\ttacet_real();\n}\n";
        let mentions = read("a.c", text).mentions;
        let ours: Vec<&String> = mentions.iter().filter(|name| name.starts_with("tacet_")).collect();
        assert_eq!(ours, ["tacet_real"]);
    }
}

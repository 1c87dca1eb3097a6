// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which files of a Rust crate use each other in a circle.
//!
//! One file uses another of its crate if it names something of it by a path (re-exports lead to where it is from), or calls
//! an inherent method that only the other defines, on `self` or on a part of it: an `impl` of one type may lie in many
//! files, whose order only these calls show. A call through a trait uses the trait's file, not those that implement it.
//! Tests do not count, nor does a crate's root.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::circles::{Edges, circles};
use super::count::{Count, Sources};

/// How often a re-export leads to another one.
const LONGEST_CHAIN: usize = 8;

/// Methods that the standard library's types have too: whose a call is, is not known.
const EVERYBODYS: [&str; 10] = ["end", "get", "insert", "map", "pop", "push", "remove", "send", "start", "take"];

/// The crates whose path begins with one of `homes`; all, if there is none.
pub fn in_circles(sources: &Sources, homes: &[&str]) -> Count {
    let mut crates: BTreeMap<&str, Vec<(&str, File)>> = BTreeMap::new();
    for (path, text) in sources {
        let Some((home, rest)) = path.strip_suffix(".rs").and_then(|name| name.split_once("/src/")) else { continue };
        if homes.is_empty() || homes.contains(&home) {
            // what is no Rust by itself, the compiler tells
            let Ok(parsed) = syn::parse_file(text) else { continue };
            crates.entry(home).or_default().push((path, File::new(rest, &parsed)));
        }
    }
    let mut edges = Edges::new();
    for files in crates.values() {
        add_edges(files, &mut edges);
    }
    circles(&edges)
}

type Path = Vec<String>;

struct File {
    module: Path,
    /// Modules that it declares.
    children: BTreeSet<String>,
    /// Paths that it names, from the crate's root.
    names: BTreeSet<Path>,
    /// What it exports from elsewhere: the name here, and the path.
    exports: BTreeMap<String, Path>,
    /// Inherent methods, and those of traits, that it defines.
    methods: BTreeSet<String>,
    /// Methods that it calls on `self` and on parts of it.
    calls: BTreeSet<String>,
}

impl File {
    fn new(name: &str, parsed: &syn::File) -> Self {
        let mut module: Path = name.split('/').map(str::to_owned).collect();
        if ["mod", "lib", "main"].iter().any(|root| module.last().is_some_and(|last| last == root)) {
            module.pop();
        }
        let declared = parsed.items.iter().filter_map(|item| match item {
            syn::Item::Mod(child) => Some(child.ident.to_string()),
            _ => None,
        });
        let children = declared.collect();
        let mut file = Self {
            module,
            children,
            names: BTreeSet::new(),
            exports: BTreeMap::new(),
            methods: BTreeSet::new(),
            calls: BTreeSet::new(),
        };
        file.visit_file(parsed);
        file
    }

    /// The path from the root, if it is one of this crate.
    fn absolute(&self, path: &[String]) -> Option<Path> {
        let first = path.first()?;
        let mut rest = path;
        let mut from = match first.as_str() {
            "crate" => Path::new(),
            "self" | "super" => self.module.clone(),
            _ if self.children.contains(first) => return Some([&self.module[..], path].concat()),
            _ => return None,
        };
        while let Some((word, behind)) =
            rest.split_first().filter(|(word, _)| ["crate", "self", "super"].contains(&word.as_str()))
        {
            if word == "super" {
                from.pop()?;
            }
            rest = behind;
        }
        from.extend_from_slice(rest);
        Some(from)
    }

    fn use_tree(&mut self, prefix: &Path, tree: &syn::UseTree, public: bool) {
        let mut with = |ident: &syn::Ident, name: &syn::Ident| {
            let mut path = prefix.clone();
            // `use a::{self}` is `a`
            if ident != "self" || path.is_empty() {
                path.push(ident.to_string());
            }
            let Some(path) = self.absolute(&path) else { return };
            if public {
                self.exports.insert(name.to_string(), path);
            } else {
                self.names.insert(path);
            }
        };
        match tree {
            syn::UseTree::Path(path) => {
                let prefix = [&prefix[..], &[path.ident.to_string()]].concat();
                self.use_tree(&prefix, &path.tree, public);
            }
            syn::UseTree::Name(name) => with(&name.ident, &name.ident),
            syn::UseTree::Rename(name) => with(&name.ident, &name.rename),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.use_tree(prefix, tree, public)),
            syn::UseTree::Glob(_) => {
                if let Some(path) = self.absolute(prefix).filter(|_| !public) {
                    self.names.insert(path);
                }
            }
        }
    }
}

fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

impl<'ast> Visit<'ast> for File {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_of_tests(&item.attrs) {
            self.use_tree(&Path::new(), &item.tree, matches!(item.vis, syn::Visibility::Public(_)));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if words.len() > 1 {
            self.names.extend(self.absolute(&words));
        }
        visit::visit_path(self, path);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if item.trait_.is_none() {
            let methods = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(method) if method.sig.receiver().is_some() => Some(method.sig.ident.to_string()),
                _ => None,
            });
            self.methods.extend(methods);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let methods = item.items.iter().filter_map(|item| match item {
            syn::TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
            _ => None,
        });
        self.methods.extend(methods);
        visit::visit_item_trait(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if begins_with_self(&call.receiver) && !EVERYBODYS.contains(&name.as_str()) {
            self.calls.insert(name);
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// `self`, and what follows it by fields: a value that a method gives may be of any crate.
fn begins_with_self(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Path(path) => path.path.is_ident("self"),
        syn::Expr::Field(field) => begins_with_self(&field.base),
        syn::Expr::Reference(reference) => begins_with_self(&reference.expr),
        syn::Expr::Paren(paren) => begins_with_self(&paren.expr),
        _ => false,
    }
}

fn add_edges<'a>(files: &[(&'a str, File)], edges: &mut Edges<'a>) {
    let homes: BTreeMap<&[String], usize> =
        files.iter().enumerate().map(|(index, (_, file))| (&file.module[..], index)).collect();
    let mut methods: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (index, (_, file)) in files.iter().enumerate() {
        file.methods.iter().for_each(|name| {
            methods.entry(name).or_default().insert(index);
        });
    }
    for (index, (path, file)) in files.iter().enumerate() {
        let named = file.names.iter().filter_map(|name| Some((home(files, &homes, name)?, name.join("::"))));
        let called = file.calls.iter().filter_map(|name| {
            let homes = methods.get(name.as_str())?;
            let one = homes.first().copied().filter(|_| homes.len() == 1)?;
            Some((one, format!(".{name}()")))
        });
        for (to, what) in named.chain(called).filter(|(to, _)| *to != index) {
            // the root declares all, and is no floor
            if files.get(to).is_some_and(|(_, file)| !file.module.is_empty()) {
                edges.entry((path, files[to].0)).or_default().insert(what);
            }
        }
    }
}

/// The file that something is from which has this path.
fn home(files: &[(&str, File)], homes: &BTreeMap<&[String], usize>, path: &[String]) -> Option<usize> {
    let mut path = path.to_vec();
    for _ in 0..LONGEST_CHAIN {
        let length = (0..=path.len()).rev().find(|&length| homes.contains_key(&path[..length]))?;
        let index = *homes.get(&path[..length])?;
        match path.get(length).and_then(|name| files[index].1.exports.get(name)) {
            Some(from) => path = [&from[..], &path[length + 1..]].concat(),
            None => return Some(index),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(files: &[(&str, &str)]) -> Count {
        let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        in_circles(&files, &[])
    }

    #[test]
    fn paths_make_circles_and_tests_do_not() {
        let a = ("k/src/a.rs", "use crate::b::B;\npub struct A;\n");
        let up = count(&[a, ("k/src/b.rs", "pub struct B;\nfn f() { super::a::g(); }\n")]);
        assert_eq!(up.count, 2, "{:?}", up.offenders);
        let test = count(&[a, ("k/src/b.rs", "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n")]);
        assert_eq!(test.count, 0, "{:?}", test.offenders);
        let other = count(&[a, ("l/src/b.rs", "use crate::a::A;\npub struct B;\n")]);
        assert_eq!(other.count, 0, "another crate's file of that name");
    }

    #[test]
    fn one_types_methods_in_two_files_make_a_circle() {
        let a = ("k/src/a.rs", "impl crate::Host { pub fn one(&self) { self.two(); } }\n");
        assert_eq!(count(&[a, ("k/src/b.rs", "impl crate::Host { pub fn two(&self) { self.one(); } }\n")]).count, 2);
        assert_eq!(count(&[a, ("k/src/b.rs", "impl crate::Host { pub fn two(&self) { other.one(); } }\n")]).count, 0);
        let by_trait = "impl Caller for Host { fn two(&self) { self.one(); } }\n";
        assert_eq!(count(&[a, ("k/src/b.rs", by_trait)]).count, 0, "who is called through a trait is not known");
    }

    #[test]
    fn a_re_export_leads_to_its_file() {
        let a = ("k/src/a/mod.rs", "mod inner;\npub use inner::Inner;\n");
        let inner = ("k/src/a/inner.rs", "pub struct Inner;\n");
        let used = count(&[a, inner, ("k/src/b.rs", "use crate::a::Inner;\n")]);
        assert_eq!(used.count, 0, "{:?}", used.offenders);
        let back = ("k/src/a/inner.rs", "use crate::b::B;\npub struct Inner;\n");
        let circle = count(&[a, back, ("k/src/b.rs", "use crate::a::Inner;\npub struct B;\n")]);
        assert_eq!(
            circle.offenders.first().map(String::as_str),
            Some("circle of 2 files: k/src/a/inner.rs k/src/b.rs")
        );
    }
}

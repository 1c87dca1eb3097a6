// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The deepest chain of calls from each function.

use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::code::{Address, Function, Functions, WORD};
use super::written::Written;

/// A path is told up to here.
const TOLD: usize = 64;

/// From each function: the depth, and the call that makes it.
pub struct Deepest(BTreeMap<Address, (usize, Option<Address>)>);

impl Deepest {
    pub fn of(functions: &Functions, written: &Written) -> Result<Self, String> {
        let mut graph = DiGraphMap::<Address, ()>::new();
        for (&address, function) in functions {
            graph.add_node(address);
            function.calls.iter().for_each(|&(_, callee)| _ = graph.add_edge(address, callee, ()));
        }
        let mut deepest = Self(BTreeMap::new());
        // what is called comes before those that call it
        for circle in tarjan_scc(&graph) {
            let members: Vec<(Address, &Function)> =
                circle.iter().filter_map(|address| Some((*address, functions.get(address)?))).collect();
            match circle.first() {
                Some(&at) if circle.len() == 1 && !graph.contains_edge(at, at) => deepest.add(&members, &circle, 0),
                _ => deepest.add_circle(&members, &circle, written)?,
            }
        }
        Ok(deepest)
    }

    /// Functions that call each other: so often as it is written, the largest frame of them, and then what one of them
    /// calls outside.
    fn add_circle(
        &mut self,
        members: &[(Address, &Function)],
        circle: &[Address],
        written: &Written,
    ) -> Result<(), String> {
        let names = || members.iter().map(|(_, function)| function.name.as_str());
        let times = written.times(names()).ok_or_else(|| {
            format!("stack: nobody has written how often: {}", names().collect::<Vec<_>>().join(", "))
        })?;
        let most = members.iter().map(|(_, function)| function.frame + WORD).max().unwrap_or(0);
        self.add(members, circle, most * times);
        // from any of them one gets to the deepest
        let deepest = members.iter().filter_map(|(address, _)| self.0.get(address).copied()).max();
        if let Some(deepest) = deepest {
            members.iter().for_each(|(address, _)| _ = self.0.insert(*address, deepest));
        }
        Ok(())
    }

    fn add(&mut self, members: &[(Address, &Function)], circle: &[Address], repeated: usize) {
        for (address, function) in members {
            let outside = function.calls.iter().filter(|(_, callee)| !circle.contains(callee));
            let below = outside.map(|&(before, callee)| (before + self.depth(callee), Some(callee)));
            let (depth, by) = below.chain([(function.frame, None)]).max().unwrap_or_default();
            self.0.insert(*address, (depth + repeated, by));
        }
    }

    fn depth(&self, of: Address) -> usize {
        self.0.get(&of).map_or(0, |&(depth, _)| depth)
    }

    /// The depth from that of `roots` which has the greatest, and the functions on the way.
    pub fn path(&self, functions: &Functions, roots: &[&str]) -> Result<(usize, Vec<String>), String> {
        let address = |root: &&str| {
            let found = functions.iter().find(|(_, function)| function.name == **root);
            found.map(|(&address, _)| address).ok_or_else(|| format!("stack: no function {root} in the image"))
        };
        let roots = roots.iter().map(address).collect::<Result<Vec<_>, _>>()?;
        let first = roots.into_iter().max_by_key(|root| self.depth(*root));
        let (mut path, mut at) = (Vec::new(), first);
        while let Some(address) = at
            && path.len() < TOLD
        {
            let (depth, next) = self.0.get(&address).copied().unwrap_or_default();
            path.push(format!("{depth:>6} from {}", functions.get(&address).map_or("?", |function| &function.name)));
            at = next;
        }
        Ok((first.map_or(0, |first| self.depth(first)), path))
    }
}

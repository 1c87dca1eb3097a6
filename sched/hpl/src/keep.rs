// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What stays usable while every CPU computes: reads the words of `--keep`. `scheduler` writes the result to the maps;
//! `bpf/kept.h` decides by them.

use std::path::PathBuf;

use crate::Result;

/// The login sessions of root.
const LOGINS: u32 = 1;
const USERS: u32 = 2;
const GROUPS: u32 = 4;

/// What is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub logins: bool,
    pub users: Vec<u32>,
    pub groups: Vec<PathBuf>,
}

impl Kept {
    /// Reads the words; without any, root's login sessions are kept. `user` finds the number of a user by name.
    pub fn read(words: &[String], user: impl Fn(&str) -> Option<u32>) -> Result<Kept> {
        let mut kept = Kept { logins: words.is_empty(), ..Kept::default() };
        for word in words {
            if word == "none" {
                if words.len() > 1 {
                    return Err("--keep none: it goes with no other --keep".into());
                }
            } else if word.contains('/') || word.contains('.') {
                kept.groups.push(word.into());
            } else {
                let number = word.parse().ok().or_else(|| user(word));
                kept.users.push(number.ok_or_else(|| {
                    format!("--keep {word}: no user of this name; write a control group as a path with a '/'")
                })?);
            }
        }
        Ok(kept)
    }

    /// The bits for the scheduler, `KEEP_x` of `bpf/hpl.h`.
    pub fn bits(&self) -> u32 {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        bit(self.logins, LOGINS) | bit(!self.users.is_empty(), USERS) | bit(!self.groups.is_empty(), GROUPS)
    }
}

/// The number of a user, from the system's lists of users.
pub fn user(name: &str) -> Option<u32> {
    nix::unistd::User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Kept> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Kept::read(&words, |name| (name == "alice").then_some(1000))
    }

    #[test]
    fn without_a_word_root_s_sessions_are_kept() {
        let kept = read("").expect("no word");
        assert_eq!((kept.logins, kept.bits()), (true, LOGINS));
    }

    #[test]
    fn words_are_users_or_groups_and_replace_the_default() {
        let kept = read("alice 7 system.slice/ssh.service admins.slice").expect("good words");
        assert_eq!((kept.logins, &kept.users[..]), (false, &[1000, 7][..]));
        assert_eq!(kept.groups, ["system.slice/ssh.service", "admins.slice"].map(PathBuf::from));
        assert_eq!(kept.bits(), USERS | GROUPS);
        assert_eq!(read("none").expect("none").bits(), 0);
    }

    #[test]
    fn wrong_words_are_refused_in_one_line() {
        for (wrong, why) in [("bob", "--keep bob: no user"), ("none alice", "--keep none")] {
            let said = read(wrong).expect_err(wrong).to_string();
            assert!(said.starts_with(why) && !said.contains('\n'), "{said}");
        }
    }
}

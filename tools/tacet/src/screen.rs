// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A terminal that shows one page, which is drawn again and again, and answers single keys.
//!
//! Called by `top`. The page is on the terminal's second screen, so what was there before comes back at the end. The
//! terminal's settings are restored in whatever way `top` ends but SIGKILL: Ctrl-C, SIGTERM and SIGHUP are read as the
//! wish to end.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tacet_ctl::{Error, Interrupted, Result};

const SECOND_SCREEN: &str = "\x1b[?1049h";
const FIRST_SCREEN: &str = "\x1b[?1049l";

/// A signal may come just before the waiting begins, or to another thread: it is noticed after this time.
const SLICE: Duration = Duration::from_millis(200);

/// What the person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    End,
    Key(u8),
    /// the time is over
    Nothing,
}

pub struct Screen {
    before: Termios,
    interrupted: Interrupted,
}

impl Screen {
    /// `None` if standard input or output is no terminal.
    pub fn open() -> Result<Option<Screen>> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let screen = Screen { before, interrupted: Interrupted::watch()? };
        screen.say(SECOND_SCREEN)?;
        Ok(Some(screen))
    }

    /// Draws the page from the top; what does not fit is left out.
    pub fn draw(&self, page: &str) -> Result<()> {
        let size = tcgetwinsize(io::stdout()).map_err(failed)?;
        // 0 of a terminal that does not know its size
        let or = |size: u16, usual: u16| usize::from(if size == 0 { usual } else { size });
        self.say(&frame(page, or(size.ws_row, 24), or(size.ws_col, 80)))
    }

    /// Waits for a key, for at most this long.
    pub fn wish(&self, within: Duration) -> Result<Wish> {
        let end = Instant::now() + within;
        // each time: a shell that had the terminal meanwhile (Ctrl-Z) set its own
        let mut keys = self.before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &keys).map_err(failed)?;
        loop {
            if self.interrupted.undone("top").is_some() {
                return Ok(Wish::End);
            }
            let left = end.saturating_duration_since(Instant::now()).min(SLICE);
            let stdin = io::stdin();
            let mut files = [PollFd::new(&stdin, PollFlags::IN)];
            let left = Timespec::try_from(left).map_err(|_| Error::new("top", "the clock went wrong", "repeat it"))?;
            match poll(&mut files, Some(&left)) {
                Ok(0) if Instant::now() < end => (),
                Ok(0) => return Ok(Wish::Nothing),
                Ok(_) => {
                    let mut key = [0];
                    // not by std, whose buffer would hide further keys from poll
                    return match rustix::io::read(&stdin, &mut key) {
                        Ok(1) if key[0] != b'q' => Ok(Wish::Key(key[0])),
                        Ok(_) => Ok(Wish::End),
                        Err(error) => Err(failed(error)),
                    };
                }
                Err(rustix::io::Errno::INTR) => (),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn say(&self, text: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|io| Error::io("terminal", &io, ""))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // a terminal that is gone needs neither
        let _ = self.say(FIRST_SCREEN);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn failed(error: rustix::io::Errno) -> Error {
    Error::io("terminal", &error.into(), "use another one, or `tacet top -n 1`")
}

/// The page from the terminal's first cell; each line clears what was in its place, and the last one the rest.
fn frame(page: &str, rows: usize, columns: usize) -> String {
    let mut text = String::from("\x1b[H");
    let lines: Vec<&str> = page.lines().take(rows).collect();
    for (index, line) in lines.iter().enumerate() {
        text.extend(line.chars().take(columns));
        text += "\x1b[K";
        if index + 1 < lines.len() {
            text += "\r\n";
        }
    }
    text + "\x1b[J"
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rexpect::session::spawn_command;

    use super::*;

    #[test]
    fn a_page_fits_the_terminal() {
        assert_eq!(frame("abcdef\ng\nh\n", 2, 3), "\x1b[Habc\x1b[K\r\ng\x1b[K\x1b[J");
        assert_eq!(frame("", 9, 9), "\x1b[H\x1b[J");
    }

    /// Executed by the next test, on a terminal.
    #[test]
    #[ignore = "it is the program that `keys_are_answered` types into"]
    fn shown() {
        let screen = Screen::open().unwrap().expect("a terminal");
        screen.draw("a page\n").unwrap();
        loop {
            match screen.wish(Duration::from_secs(60)).unwrap() {
                Wish::Key(key) => screen.draw(&format!("key {}\n", char::from(key))).unwrap(),
                Wish::End => break,
                Wish::Nothing => panic!("nobody typed"),
            }
        }
    }

    fn on_a_terminal(end: &str) {
        // whoever started the tests may ignore SIGINT
        let mut program = Command::new("env");
        program.arg("--default-signal=INT").arg(std::env::current_exe().unwrap());
        program.args(["--exact", "screen::tests::shown", "--ignored", "--nocapture"]);
        let mut terminal = spawn_command(program, Some(60_000)).unwrap();
        terminal.exp_string("\x1b[?1049h\x1b[Ha page\x1b[K\x1b[J").unwrap();
        // no return key, and no echo
        terminal.send("f").unwrap();
        terminal.flush().unwrap();
        terminal.exp_string("\x1b[Hkey f\x1b[K\x1b[J").unwrap();
        terminal.send(end).unwrap();
        terminal.flush().unwrap();
        terminal.exp_string("\x1b[?1049l").unwrap();
        terminal.exp_string("1 passed").unwrap();
    }

    #[test]
    fn keys_are_answered() {
        on_a_terminal("q");
    }

    #[test]
    fn ctrl_c_restores_the_terminal() {
        on_a_terminal("\x03");
    }
}

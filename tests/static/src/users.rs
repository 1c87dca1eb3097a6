// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Root's daemon for all users with a node of metal, which is one boot for both users.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::boot::{Metal, NETWORK, emulator, free_port, image, scratch, until_ready};
use crate::case::Case;
use crate::nodes::{is_root, tacet};
use crate::place::{command, program};
use crate::process;

pub fn cases() -> Vec<Case> {
    // Without root there is one user: the name says that nothing is tested.
    let case = if is_root() {
        Case::own("a user finds nothing of another user's job in the node's memory", memory)
    } else {
        Case::own("memory of another user's job: LEFT OUT, needs root", || Ok(()))
    };
    vec![case]
}

/// One user fills the node's memory with a mark, another one looks for it.
fn memory() -> Result<()> {
    let directory = scratch()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (key, control, log, port) = (path("key"), path("control"), path("serial.log"), free_port()?);
    let (iod, name) = (format!("10.0.2.2:{port}"), format!("test-users-{}", std::process::id()));
    let words =
        ["boot", "--metal", "--json", "--nodes", "1", "--address", "10.0.2.15/24", "--iod", &iod, "--key", &key];
    let entry = process::run(&mut tacet(&words), b"")?;
    let entry: serde_json::Value =
        serde_json::from_slice(&entry.stdout).map_err(|error| format!("{error}: {}", entry.error_text()))?;
    let line = entry["nodes"][0]["kernel_arguments"].as_str().ok_or("no command line for the node")?;
    let mut metal = Metal { children: Vec::new() };
    let mut daemon = Command::new(command());
    let listen = format!("127.0.0.1:{port}");
    daemon.args(["--config", "/dev/null", "iod", "--all-users", "--listen", &listen, "--key", &key]);
    metal.children.push(process::start(daemon.args(["--control", &control, "--name", &name]))?);
    let serial = format!("file:{log}");
    let mut emulator = emulator(&["-kernel", &image()?, "-append", line, "-serial", &serial])?;
    metal.children.push(process::start(emulator.args(NETWORK))?);
    until_ready(&control, &log)?;
    let own_copies = copies(directory.path())?;
    let run = |uid: &str, word: &str| {
        let mut run = Command::new("setpriv");
        run.args(["--reuid", uid, "--regid", uid, "--clear-groups"]).args(&own_copies[..1]);
        run.args(["--config", "/dev/null", "static", "run", "--control", &control, "--", &own_copies[1], word]);
        run.current_dir(directory.path());
        let ended = process::run(&mut run, b"")?;
        Ok::<_, String>((ended.status, ended.text(), ended.error_text()))
    };
    for (uid, word, said) in
        [("65534", "leave", "marks in more than 16 MiB\n"), ("65533", "look", "no mark in more than 16 MiB\n")]
    {
        let (status, text, error) = run(uid, word)?;
        if (status, text.as_str()) != (0, said) {
            return Err(format!("remains {word} of user {uid}: status {status}: {text}{error}"));
        }
    }
    Ok(())
}

/// The command and the program where each user may execute them.
fn copies(directory: &Path) -> Result<Vec<String>> {
    let text = |error: std::io::Error| error.to_string();
    fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).map_err(text)?;
    let copy = |from: &Path, name: &str| -> Result<String> {
        let to = directory.join(name);
        fs::copy(from, &to).and_then(|_| fs::set_permissions(&to, PermissionsExt::from_mode(0o755))).map_err(text)?;
        Ok(to.display().to_string())
    };
    Ok(vec![copy(&command(), "tacet")?, copy(Path::new(&program("remains-static")), "remains")?])
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types from DWARF, for kernels without BTF: the module's reader finds its fields in what `tacet-layouts` writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tacet_layouts::{c_text, collect};
use tacet_layouts_tests::{Reader, Said, Types};

const WANTED: [&str; 5] = ["nvme_ctrl", "nvme_ctrl_state", "nvme_dev", "nvme_ns", "nvme_ns_head"];

/// Compiles a file of `c/`; linked with a build ID, as vmlinux is, or not, as a module.
fn compiled(source: &str, linked: bool, dwarf: &str, directory: &Path) -> PathBuf {
    let out = directory.join(source).with_extension("o");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(source);
    let kind: &[&str] = if linked { &["-shared", "-nostdlib", "-fPIC", "-Wl,--build-id=0xc0ffee01"] } else { &["-c"] };
    let status =
        Command::new("cc").args(dwarf.split(' ')).args(kind).arg("-o").arg(&out).arg(source).status().expect("cc");
    assert!(status.success());
    out
}

fn kernel(dwarf: &str, directory: &Path) -> [PathBuf; 2] {
    [compiled("linux_types.c", true, dwarf, directory), compiled("driver_types.c", false, dwarf, directory)]
}

fn as_kernel(btf: &[u8], directory: &Path) -> Types {
    let base = directory.join("btf");
    fs::write(&base, btf).expect("a file");
    Types { release: "made".to_owned(), base, nvme: None, core: None }
}

#[test]
fn the_reader_finds_every_wanted_field_in_types_from_dwarf() {
    let directory = tempfile::tempdir().expect("scratch");
    let reader = Reader::build().expect("the reader");
    let place = |field: &str, offset, bytes| Said::Place(field.to_owned(), offset, bytes);
    for dwarf in ["-gdwarf-4", "-gdwarf-5", "-gz -gdwarf-5"] {
        let files = kernel(dwarf, directory.path());
        let types = collect(&files, &WANTED).expect("types");
        assert_eq!(types.build_id, "c0ffee01");
        let said = reader.table(&as_kernel(&types.btf, directory.path())).expect("a table");
        let expected = [
            place("nvme_dev.dev", 0, 8),
            place("nvme_dev.ctrl", 32, 16),
            place("nvme_dev.max_qid", 8, 4),
            place("nvme_dev.online_queues", 12, 4),
            place("nvme_dev.db_stride", 16, 4),
            place("nvme_dev.dbbuf_dbs", 24, 8),
            place("nvme_dev.dbbuf_eis", 48, 8),
            place("nvme_ctrl.state", 8, 4),
            place("nvme_ctrl.admin_q", 0, 8),
            place("nvme_ctrl.max_hw_sectors", 12, 4),
            Said::Value("nvme_ctrl_state.NVME_CTRL_LIVE".to_owned(), 1),
            place("nvme_ns.ctrl", 0, 8),
            place("nvme_ns.disk", 8, 8),
            place("nvme_ns.head", 16, 8),
            place("nvme_ns_head.ns_id", 24, 4),
            place("nvme_ns_head.disk", 40, 8),
            place("nvme_ns_head.lba_shift", 29, 1),
            place("nvme_ns_head.ms", 30, 2),
            place("nvme_ns_head.pi_type", 32, 1),
        ];
        assert_eq!(said, expected, "{dwarf}");
    }
}

#[test]
fn what_the_table_does_not_ask_for_is_written_rightly_too() {
    let directory = tempfile::tempdir().expect("scratch");
    let reader = Reader::build().expect("the reader");
    let types = collect(&kernel("-g", directory.path()), &WANTED).expect("types");
    let base = as_kernel(&types.btf, directory.path()).base;
    let find = |words: &str| reader.find(&base, None, words).expect("an answer").remove(0);
    let refused = |line: &str| Said::Refused(line.to_owned());
    for (words, said) in [
        (
            "enumerator 0 - nvme_ctrl_state.NVME_CTRL_LAST",
            Said::Value("nvme_ctrl_state.NVME_CTRL_LAST".to_owned(), 255),
        ),
        ("enumerator 0 - nvme_ctrl_state.NVME_CTRL_NONE", Said::Value("nvme_ctrl_state.NVME_CTRL_NONE".to_owned(), -3)),
        ("integer 1 - nvme_ns_head.high", Said::Place("nvme_ns_head.high".to_owned(), 25, 1)),
        ("struct 0 list nvme_ns_head.siblings", Said::Place("nvme_ns_head.siblings".to_owned(), 0, 16)),
        ("pointer 0 - nvme_ns_head.walk", refused("nvme_ns_head.walk: void * expected, found function *")),
        (
            "integer 1 - nvme_ns_head.ready",
            refused("nvme_ns_head.ready: integer of 1 byte expected, found unsigned char as a bit field"),
        ),
        (
            "integer 1 - nvme_ns_head.name",
            refused("nvme_ns_head.name: integer of 1 byte expected, found array of array of char"),
        ),
    ] {
        assert_eq!(find(words), said, "{words}");
    }
}

#[test]
fn the_c_text_has_the_same_bytes() {
    let directory = tempfile::tempdir().expect("scratch");
    let types = collect(&kernel("-g", directory.path()), &WANTED).expect("types");
    let (source, program) = (directory.path().join("print.c"), directory.path().join("print"));
    let print = "#include <unistd.h>\nint main(void) { return write(1, TACET_TYPES_BUILD_ID, 8) != 8 ||\n\
                 write(1, tacet_types, sizeof(tacet_types)) != sizeof(tacet_types); }\n";
    fs::write(&source, format!("{}{print}", c_text(&types))).expect("a file");
    assert!(Command::new("cc").arg("-o").arg(&program).arg(&source).status().expect("cc").success());
    let output = Command::new(&program).output().expect("the program");
    assert_eq!(output.stdout, [b"c0ffee01", types.btf.as_slice()].concat());
}

#[test]
fn files_that_cannot_serve_are_refused_in_one_line() {
    let directory = tempfile::tempdir().expect("scratch");
    let files = kernel("-g", directory.path());
    let [linux, driver] = &files;
    let refusal = |files: &[PathBuf], wanted: &[&str]| match collect(files, wanted) {
        Ok(_) => panic!("{files:?} serve"),
        Err(error) => error.to_string().replace(&directory.path().display().to_string(), "…"),
    };
    assert_eq!(
        refusal(std::slice::from_ref(linux), &WANTED),
        "nvme_ctrl, nvme_ctrl_state, nvme_dev: in none of the files"
    );
    assert_eq!(refusal(std::slice::from_ref(driver), &WANTED), "…/driver_types.o: no build ID");
    let stripped = compiled("linux_types.c", true, "-g0", directory.path());
    let line = "…/linux_types.o: no debugging information (DWARF); use the file that the kernel's build left";
    assert_eq!(refusal(&[stripped], &WANTED), line);
    fs::write(driver, "not ELF").expect("a file");
    assert!(refusal(std::slice::from_ref(driver), &WANTED).starts_with("…/driver_types.o: "));
}

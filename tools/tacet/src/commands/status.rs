// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet status`: the state of the partition and the counters of its cores.

use serde::Serialize;
use tacet_ctl::status::{DONE, NO};
use tacet_ctl::{CpuStatus, Device, PartitionState, Result, Status, format_bytes};

use crate::output;
use crate::text::{count, duration, word};

/// The JSON of `status`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    status: Status,
    cores: Vec<CpuStatus>,
}

pub fn status(json: bool) -> Result<u8> {
    let device = Device::open()?;
    let status = device.status()?;
    let cores = match status.state {
        // The partition may end between the two requests.
        PartitionState::Up => status.cpus.iter().filter_map(|cpu| device.cpu_status(cpu).ok()).collect(),
        _ => Vec::new(),
    };
    let report = Report { status, cores };
    if json {
        output::json(&report)?;
    } else {
        output::print(&describe(&report))?;
    }
    Ok(if report.status.state == PartitionState::Up { DONE } else { NO })
}

fn describe(report: &Report) -> String {
    let status = &report.status;
    let mut text = format!("partition  {}\n", word(&status.state));
    let mut line = |name: &str, value: String| text += &format!("{name:<11}{value}\n");
    if !status.message.is_empty() {
        line("because", status.message.clone());
    }
    if status.state == PartitionState::Up {
        line("CPUs", if status.cpus.is_empty() { "none yet".to_string() } else { status.cpus.to_string() });
        if !status.spare.is_empty() {
            line("spare", format!("{} (`tacet grow`)", status.spare));
        }
        if !status.kept.is_empty() {
            line("kept", format!("{} for the next job (`tacet job release`)", status.kept));
        }
        line("memory", memory(status));
        line(
            "own memory",
            format!("{} of {} with programs", format_bytes(status.own_bytes), format_bytes(status.own_bytes_limit)),
        );
        let threads = count(status.hosted_threads, "thread", "threads");
        let processes = count(status.hosted_processes, "process", "processes");
        line("hosted", format!("{threads} of {processes}, at most {}", status.hosted_threads_max));
        line("isolation", isolation(status));
        line("image", format_bytes(status.image_bytes.into()));
    }
    if status.up_count > 0 {
        line("started", format!("{}, the last in {}", count(status.up_count, "time", "times"), duration(status.up_ns)));
    }
    if status.down_ns > 0 {
        line("stopped", format!("the last in {}", duration(status.down_ns)));
    }
    if status.test_hooks {
        line("test hooks", "on".to_string());
    }
    if !report.cores.is_empty() {
        text += "\n";
        text += &cores(&report.cores);
    }
    text
}

fn isolation(status: &Status) -> String {
    let now = status.user.map_or_else(String::new, |user| format!(" (now uid {user})"));
    let mixed = if status.mixed_users { ", mixed by root although one can read another's data" } else { "" };
    format!("{}{mixed}{now}", status.isolation)
}

fn memory(status: &Status) -> String {
    let all = status.memory.iter().map(|entry| entry.bytes).sum();
    let nodes = status.memory.iter().map(|entry| format!("node {}: {}", entry.node, format_bytes(entry.bytes)));
    format!("{} ({})", format_bytes(all), nodes.collect::<Vec<_>>().join(", "))
}

fn cores(cores: &[CpuStatus]) -> String {
    let headings = [
        "CPU>",
        "NODE>",
        "STATE",
        "MODE",
        "THREADS>",
        "SWITCHES>",
        "DOORBELLS>",
        "FLUSHES>",
        "ALARMS>",
        "CLOCK",
        "FOREIGN-NMI>",
        "FOREIGN",
    ];
    let rows = cores.iter().map(|core| {
        let foreign = core.foreign_interrupts.iter().map(|entry| format!("{:#04x}:{}", entry.vector, entry.count));
        let foreign = foreign.collect::<Vec<_>>().join(" ");
        vec![
            core.cpu.to_string(),
            core.node.to_string(),
            word(&core.state),
            word(&core.mode),
            core.hosted_threads.to_string(),
            core.switches.to_string(),
            core.doorbells_sent.to_string(),
            core.flushes.to_string(),
            core.alarms.to_string(),
            core.clock.describe(),
            core.foreign_nmi().to_string(),
            if foreign.is_empty() { "none".to_string() } else { foreign },
        ]
    });
    output::table(&headings, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacet_ctl::{Clock, ClockControl, CpuMode, CpuSet, CpuState, Foreign, Measures, NodeMemory};

    /// What is wrong with it by docs/json/status.json.
    fn wrong(json: &serde_json::Value) -> Option<String> {
        let schema = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json/status.json");
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        let index = compiler.compile(schema.canonicalize().unwrap().to_str().unwrap(), &mut schemas).unwrap();
        schemas.validate(json, index).err().map(|error| format!("{error:#}"))
    }

    fn report() -> Report {
        let status = Status {
            state: PartitionState::Up,
            cpus: "2-3".parse::<CpuSet>().unwrap(),
            spare: CpuSet::default(),
            kept: CpuSet::default(),
            memory: vec![NodeMemory { node: 0, bytes: 1 << 30 }],
            hosted_threads: 1,
            hosted_processes: 1,
            hosted_threads_max: 512,
            up_count: 2,
            image_bytes: 147456,
            up_ns: 812_000_000,
            down_ns: 0,
            tsc_khz: 1,
            test_hooks: false,
            own_bytes: 3 << 20,
            own_bytes_limit: 1000 << 20,
            isolation: Measures { one_user: true, buffers: true, ..Measures::default() },
            mixed_users: false,
            user: Some(1000),
            message: String::new(),
        };
        let core = CpuStatus {
            cpu: 2,
            node: 0,
            package: 0,
            physical_core: 1,
            state: CpuState::Online,
            mode: CpuMode::User,
            hosted_threads: 1,
            doorbells_sent: 4,
            doorbells_user: 3,
            doorbells_kernel: 1,
            doorbells_empty: 0,
            notifications: 9,
            switches: 1,
            flushes: 7,
            frames_taken: 900,
            frames_returned: 132,
            alarms: 5,
            stack_bytes: 2800,
            stack_bytes_limit: 16384,
            clock: Clock { control: ClockControl::Hwp, before: 0x8000_2a04, now: 0x2a2a },
            foreign_interrupts: vec![Foreign { vector: 0xfc, count: 3 }],
        };
        Report { status, cores: vec![core] }
    }

    #[test]
    fn describes_the_partition() {
        let text = describe(&report());
        assert!(text.starts_with("partition  up\nCPUs       2-3\nmemory     1 GiB (node 0: 1 GiB)\n"), "{text}");
        assert!(text.contains("hosted     1 thread of 1 process, at most 512\n"), "{text}");
        assert!(
            text.contains("isolation  one user at a time; between users a core clears: buffers (now uid 1000)\n"),
            "{text}"
        );
        assert!(text.lines().last().unwrap().ends_with("0xfc:3"), "{text}");
        assert!(text.contains(" hwp 42 "), "{text}");
    }

    #[test]
    fn its_json_is_what_the_schema_says() {
        let json: serde_json::Value = serde_json::from_str(&tacet_words::json::text(&report()).unwrap()).unwrap();
        assert_eq!(wrong(&json), None);
        assert!(
            wrong(&serde_json::json!({ "json_version": 1, "state": "up" })).is_some(),
            "the schema requires nothing"
        );
        assert_eq!(json["state"], "up");
        assert_eq!(json["cpus"], serde_json::json!([2, 3]));
        assert_eq!(
            json["cores"][0]["clock"],
            serde_json::json!({"control": "hwp", "before": 0x8000_2a04u32, "now": 0x2a2a})
        );
        assert_eq!(
            (&json["cores"][0]["stack_bytes"], &json["cores"][0]["stack_bytes_limit"]),
            (&2800.into(), &16384.into())
        );
        assert_eq!(json["cores"][0]["foreign_interrupts"][0]["vector"], 252);
    }
}

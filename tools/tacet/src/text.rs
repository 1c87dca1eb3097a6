// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers and words as people read them.
//!
//! Called by the commands that print tables.

/// `812 ms`, `1.42 s`, `3 h 12 min`: three figures are enough.
pub fn duration(ns: u64) -> String {
    const S: u64 = 1_000_000_000;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => scaled(ns, 1_000, "us"),
        1_000_000..S => scaled(ns, 1_000_000, "ms"),
        ns if ns < 120 * S => scaled(ns, S, "s"),
        ns if ns < 7200 * S => format!("{} min {} s", ns / S / 60, ns / S % 60),
        ns => format!("{} h {} min", ns / S / 3600, ns / S / 60 % 60),
    }
}

fn scaled(ns: u64, unit: u64, name: &str) -> String {
    let value = ns as f64 / unit as f64;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {name}")
}

/// `1 thread`, `2 threads`.
pub fn count(number: impl Into<u64>, singular: &str, plural: &str) -> String {
    let number = number.into();
    format!("{number} {}", if number == 1 { singular } else { plural })
}

/// The name that an enum value has in JSON, so that both outputs say the same.
pub fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or("unknown").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        const S: u64 = 1_000_000_000;
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_420, "1.42 us"),
            (812_345_678, "812 ms"),
            (12_300_000, "12.3 ms"),
            (90 * S, "90.0 s"),
            (125 * S, "2 min 5 s"),
            (3 * 3600 * S + 12 * 60 * S, "3 h 12 min"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn words() {
        assert_eq!(count(1u32, "thread", "threads"), "1 thread");
        assert_eq!(count(0u32, "thread", "threads"), "0 threads");
        assert_eq!(word(&tacet_ctl::CpuMode::Idle), "idle");
    }
}

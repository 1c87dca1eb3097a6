// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Eq. 1 of paper 000 (section 2): max over the noise groups of (1 - (1 - S / I)^N) L / S, with the length L and the
//! interval I of a group, N threads and the synchronisation interval S.

use super::Noise;

/// The delay as a share of the program's own time, and the index of the noise that causes it.
pub fn slowdown(noise: &[Noise], threads: u64, interval_ns: f64) -> (f64, Option<usize>) {
    let each = noise.iter().map(|noise| hit(noise, threads, interval_ns) * noise.length_ns / interval_ns);
    let worst = each.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    worst.map_or((0.0, None), |(index, slowdown)| (slowdown, Some(index)))
}

/// The probability that at least one thread is hit in a synchronisation interval: 1 - (1 - p)^N, exact for small p.
fn hit(noise: &Noise, threads: u64, interval_ns: f64) -> f64 {
    let one = (interval_ns / noise.interval_ns).min(1.0);
    -(threads as f64 * (-one).ln_1p()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The paper's example: 1 ms once in 500 s, 100,000 threads, S = 250 us. It says 20 %; exactly it is 19.51 %.
    #[test]
    fn the_papers_example() {
        let (slowdown, due_to) = slowdown(&[Noise { length_ns: 1e6, interval_ns: 500e9, count: None }], 100_000, 250e3);
        assert!((slowdown - 0.1951).abs() < 0.00005, "{slowdown}");
        assert_eq!(due_to, Some(0));
    }

    /// Section 6.4: at Fugaku's 7,630,848 threads even noise once in 600 s hits nearly every interval of 250 us.
    #[test]
    fn at_full_scale_rare_noise_is_certain() {
        let rare = Noise { length_ns: 1.0, interval_ns: 600e9, count: None };
        let certain = hit(&rare, 7_630_848, 250e3);
        assert!(certain > 0.958 && certain < 0.959, "{certain}");
        assert_eq!(hit(&Noise { interval_ns: 100.0, ..rare }, 1, 250e3), 1.0);
    }

    #[test]
    fn the_worst_group_counts() {
        let noise = [
            Noise { length_ns: 1e3, interval_ns: 1e6, count: None },
            Noise { length_ns: 1e7, interval_ns: 1e12, count: None },
            Noise { length_ns: 2.0, interval_ns: 10.0, count: None },
        ];
        assert_eq!(slowdown(&noise, 1_000_000, 1e6).1, Some(1));
        assert_eq!(slowdown(&noise, 1, 1e6).1, Some(0));
        assert_eq!(slowdown(&[], 1, 1e6), (0.0, None));
    }

    proptest! {
        /// Compares with the plain formula where floating point is precise enough for it.
        #[test]
        fn as_the_formula_says(length in 1.0f64..1e7, interval in 1e6f64..1e9, sync in 1e3f64..1e6, threads in 1u64..1000) {
            let by_formula = (1.0 - (1.0 - sync / interval).powi(threads as i32)) * length / sync;
            let (exact, _) = slowdown(&[Noise { length_ns: length, interval_ns: interval, count: None }], threads, sync);
            prop_assert!((exact - by_formula).abs() <= 1e-9 * by_formula.max(1.0));
        }
    }
}

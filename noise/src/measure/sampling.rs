// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The measuring loops (`loop/loop.h`) as safe functions. The only unsafe code of the laboratory.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use memmap2::MmapMut;

/// The operands of the DAXPY kernel; the layout is that of `struct noise_vectors`.
#[repr(C, align(64))]
pub struct Vectors {
    y: [f64; 256],
    x: [f64; 256],
}

impl Default for Vectors {
    fn default() -> Self {
        Vectors { y: [0.0; 256], x: [1.0; 256] }
    }
}

/// Ends the loop of one CPU; the layout is that of `struct noise_watch`.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Watch {
    /// A quantum of this many ticks or more ends the measurement on all CPUs.
    limit: u64,
    /// All loops' watches: the first, which does not move, and how many they are. Written by `Watches::new` alone.
    all: AtomicPtr<Watch>,
    count: u64,
    /// Set by the first loop with such a quantum, or by `end`; read by this watch's loop.
    stop: AtomicU32,
}

impl Watch {
    /// Makes this loop end after its current quantum.
    pub fn end(&self) {
        self.stop.store(1, Ordering::Relaxed);
    }

    pub fn has_ended(&self) -> bool {
        self.stop.load(Ordering::Relaxed) != 0
    }
}

/// The watches of all loops of a measurement.
#[derive(Debug)]
pub struct Watches(Box<[Watch]>);

impl Watches {
    pub fn new(limit_ticks: u64, loops: usize) -> Watches {
        let one =
            || Watch { limit: limit_ticks, all: AtomicPtr::default(), count: loops as u64, stop: AtomicU32::new(0) };
        let mut watches: Box<[Watch]> = std::iter::repeat_with(one).take(loops).collect();
        let first = watches.as_mut_ptr();
        watches.iter().for_each(|watch| watch.all.store(first, Ordering::Relaxed));
        Watches(watches)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Watch> {
        self.0.iter()
    }

    /// Makes each loop end after its current quantum.
    pub fn end(&self) {
        self.iter().for_each(Watch::end);
    }

    pub fn have_ended(&self) -> bool {
        self.iter().all(Watch::has_ended)
    }
}

unsafe extern "C" {
    fn noise_fwq_register(times: *mut u64, quanta: u64, units: u64);
    fn noise_fwq_daxpy(times: *mut u64, quanta: u64, units: u64, vectors: *mut Vectors);
    fn noise_fwq_register_until(times: *mut u64, quanta: u64, units: u64, duration: u64, watch: *const Watch) -> u64;
    fn noise_fwq_daxpy_until(
        times: *mut u64,
        quanta: u64,
        units: u64,
        duration: u64,
        vectors: *mut Vectors,
        watch: *const Watch,
    ) -> u64;
    fn noise_ftq_register(counts: *mut u64, quanta: u64, origin: u64, interval: u64, watch: *const Watch) -> u64;
    fn noise_ftq_daxpy(
        counts: *mut u64,
        quanta: u64,
        origin: u64,
        interval: u64,
        vectors: *mut Vectors,
        watch: *const Watch,
    ) -> u64;
    fn noise_selfish(
        pairs: *mut u64,
        room: u64,
        end: u64,
        threshold: u64,
        shortest: *mut u64,
        watch: *const Watch,
    ) -> u64;
    safe fn noise_ticks() -> u64;
}

/// Reads the time source.
pub fn ticks() -> u64 {
    noise_ticks()
}

/// Fills `times` with the beginning and the ends of `times.len() - 1` quanta. Works on `vectors`, or in registers.
pub fn fixed_work(times: &mut [u64], units: u64, vectors: Option<&mut Vectors>) {
    let Some(quanta) = times.len().checked_sub(1) else { return };
    let (times, quanta) = (times.as_mut_ptr(), quanta as u64);
    // SAFETY: the loop writes quanta + 1 numbers, which is the slice's length, and the vectors, borrowed exclusively.
    unsafe {
        match vectors {
            Some(vectors) => noise_fwq_daxpy(times, quanta, units, vectors),
            None => noise_fwq_register(times, quanta, units),
        }
    }
}

/// The numbers that `map` has room for, which a loop stores and another thread may read meanwhile.
pub fn numbers(map: &MmapMut) -> &[AtomicU64] {
    // SAFETY: a mapping is aligned to a page, lives as long as the borrow and has room for so many; nothing else of this
    // program reaches its memory but by these atomics, and by the loops' atomic stores.
    unsafe { std::slice::from_raw_parts(map.as_ptr().cast(), map.len() / size_of::<AtomicU64>()) }
}

/// The same for `duration` ticks, or until a quantum reaches the watch's limit, here or on another CPU. Returns the
/// number of quanta done.
pub fn fixed_work_until(
    times: &[AtomicU64],
    units: u64,
    duration: u64,
    vectors: Option<&mut Vectors>,
    watch: &Watch,
) -> usize {
    let Some(quanta) = times.len().checked_sub(1) else { return 0 };
    let (times, quanta) = (place(times), quanta as u64);
    // SAFETY: as above; the loop reads the watch's limit, and loads its flag
    // and stores those of all, which live as long as this one, atomically.
    let done = unsafe {
        match vectors {
            Some(vectors) => noise_fwq_daxpy_until(times, quanta, units, duration, vectors, watch),
            None => noise_fwq_register_until(times, quanta, units, duration, watch),
        }
    };
    done as usize
}

/// Fills `counts` with the units of work done in consecutive intervals from `origin`, until the watch ends it. Returns
/// the number of intervals done.
pub fn fixed_time(
    counts: &[AtomicU64],
    origin: u64,
    interval: u64,
    vectors: Option<&mut Vectors>,
    watch: &Watch,
) -> usize {
    let (quanta, counts) = (counts.len() as u64, place(counts));
    // SAFETY: the loop writes one number for each quantum, which is the slice's length, and the vectors; it loads the
    // watch's flag atomically.
    let done = unsafe {
        match vectors {
            Some(vectors) => noise_ftq_daxpy(counts, quanta, origin, interval, vectors, watch),
            None => noise_ftq_register(counts, quanta, origin, interval, watch),
        }
    };
    done as usize
}

/// The results of the selfish loop.
#[derive(Debug, Clone, Copy)]
pub struct Detours {
    /// The number of detours, including those for which there was no room.
    pub found: u64,
    /// The least distance between two readings, in ticks.
    pub shortest: u64,
}

/// Reads the time until `end`, or until the watch ends it; stores the time and length of each jump of `threshold` or more.
pub fn selfish(pairs: &[AtomicU64], end: u64, threshold: u64, watch: &Watch) -> Detours {
    let (mut shortest, room) = (0, pairs.len() as u64 / 2);
    // SAFETY: the loop stores at most `room` pairs, which fit in the slice, and one number; it loads the watch's flag.
    let found = unsafe { noise_selfish(place(pairs), room, end, threshold, &raw mut shortest, watch) };
    Detours { found, shortest }
}

/// Where a loop stores. Atomics may be stored by a shared reference.
fn place(numbers: &[AtomicU64]) -> *mut u64 {
    numbers.as_ptr().cast_mut().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells<const N: usize>(value: u64) -> [AtomicU64; N] {
        std::array::from_fn(|_| AtomicU64::new(value))
    }

    fn values(cells: &[AtomicU64]) -> Vec<u64> {
        cells.iter().map(|cell| cell.load(Ordering::Relaxed)).collect()
    }

    /// Of a loop that is alone; it lives as long as the process.
    fn watch(limit: u64) -> &'static Watch {
        &Box::leak(Box::new(Watches::new(limit, 1))).0[0]
    }

    #[test]
    fn only_the_samples_are_written() {
        let mut times = [u64::MAX; 12];
        fixed_work(&mut times[1..11], 10, None);
        assert_eq!((times[0], times[11]), (u64::MAX, u64::MAX));
        assert!(times[1..11].is_sorted() && times[10] < u64::MAX && times[1] > 0);
        fixed_work(&mut times[1..11], 1, Some(&mut Vectors::default()));
        assert!(times[1..11].is_sorted() && times[0] == times[11]);
        fixed_work(&mut [], 1, None);
    }

    #[test]
    fn a_long_quantum_ends_the_rest() {
        for vectors in [None, Some(&mut Vectors::default())] {
            let (times, watches) = (cells::<9>(0), Watches::new(0, 3));
            let [first, .., last] = &*watches.0 else { panic!("three watches") };
            assert_eq!(fixed_work_until(&times, 1, u64::MAX, vectors, last), 1);
            let times = values(&times);
            assert!(times[1] > 0 && times[2..] == [0; 7] && watches.have_ended());
            assert_eq!(fixed_work_until(&cells::<9>(0), 1, u64::MAX, None, first), 1, "others end after their quantum");
        }
        assert_eq!(fixed_work_until(&cells::<9>(0), 1, u64::MAX, None, watch(u64::MAX)), 8);
    }

    /// A loop that must stop alone stops alone.
    #[test]
    fn one_loop_can_end() {
        let watches = Watches::new(u64::MAX, 2);
        let [first, second] = &*watches.0 else { panic!("two watches") };
        first.end();
        assert_eq!(fixed_work_until(&cells::<9>(0), 1, u64::MAX, None, first), 1);
        assert_eq!(fixed_work_until(&cells::<9>(0), 1, u64::MAX, None, second), 8);
        assert!(!watches.have_ended());
    }

    /// The first quantum that ends at the duration or after it is the last.
    #[test]
    fn the_duration_ends_the_work() {
        let (cells, duration) = (Vec::from_iter((0..1 << 16).map(AtomicU64::new)), 2_000_000);
        let done = fixed_work_until(&cells, 1000, duration, None, watch(u64::MAX));
        let times = values(&cells);
        assert!(done + 1 < times.len() && times[done] - times[0] >= duration && times[done - 1] - times[0] < duration);
        assert_eq!(fixed_work_until(&cells, 1, 0, None, watch(u64::MAX)), 1);
    }

    #[test]
    fn intervals_hold_work() {
        let counts = cells::<6>(u64::MAX);
        fixed_time(&counts[1..5], ticks(), 1_000_000, None, watch(0));
        let counts = values(&counts);
        assert_eq!((counts[0], counts[5]), (u64::MAX, u64::MAX));
        assert!(counts[1..5].iter().sum::<u64>() > 0 && counts[1..5].iter().all(|count| *count < 1_000_000));
        let nothing = cells::<3>(7);
        fixed_time(&nothing, 0, 1, Some(&mut Vectors::default()), watch(0));
        assert_eq!(values(&nothing), [1, 0, 0], "intervals that passed before the work began hold none");
    }

    #[test]
    fn detours_beyond_the_room_are_only_counted() {
        let pairs = cells::<6>(u64::MAX);
        let detours = selfish(&pairs[..4], ticks() + 2_000_000, 0, watch(0));
        let pairs = values(&pairs);
        assert!(detours.found > 2 && detours.shortest > 0);
        assert!(pairs[..4].iter().all(|value| *value < u64::MAX) && pairs[4..] == [u64::MAX; 2]);
    }

    #[test]
    fn daxpy_computes_a_x_plus_y() {
        let mut vectors = Vectors::default();
        fixed_work(&mut [0; 4], 5, Some(&mut vectors));
        let sum: f64 = (0..15).fold(0.0, |y, _| y + 1e-9);
        assert!(vectors.y.iter().all(|y| *y == sum) && vectors.x.iter().all(|x| *x == 1.0));
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reduces millions of values to a few hundred columns of a picture. A column shows the greatest value that falls into
//! it, so even the shortest noise stays visible.

/// The greatest value of each of `count` columns that divide `0..=span`; `None` where no value falls. Values beyond the
/// span are left out; a value at the end of the span belongs to the last column.
pub fn columns(values: impl Iterator<Item = (f64, f64)>, span: f64, count: usize) -> Vec<Option<f64>> {
    let mut greatest: Vec<Option<f64>> = vec![None; count];
    for (at, value) in values {
        if at < 0.0 || at > span || count == 0 {
            continue;
        }
        let column = if span > 0.0 { (at / span * count as f64) as usize } else { 0 };
        let slot = &mut greatest[column.min(count - 1)];
        *slot = Some(slot.map_or(value, |before| before.max(value)));
    }
    greatest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let values = [(0.0, 5.0), (0.9, 7.0), (1.0, 1.0), (3.9, 0.0), (4.0, 2.0), (4.1, 99.0), (-0.1, 99.0)];
        assert_eq!(columns(values.into_iter(), 4.0, 4), [Some(7.0), Some(1.0), None, Some(2.0)]);
        assert_eq!(columns([(0.0, 3.0)].into_iter(), 0.0, 2), [Some(3.0), None]);
        assert_eq!(columns(values.into_iter(), 4.0, 0), []);
        assert_eq!(columns(std::iter::empty(), 4.0, 2), [None, None]);
    }

    proptest! {
        /// Each column is exactly the greatest of its values, and the greatest of all values is in some column.
        #[test]
        fn no_column_loses_its_greatest(values in prop::collection::vec((0u32..1000, 0u32..1_000_000), 1..500), count in 1usize..60) {
            let span = 1000.0;
            let values: Vec<(f64, f64)> = values.into_iter().map(|(at, value)| (f64::from(at), f64::from(value))).collect();
            let found = columns(values.iter().copied(), span, count);
            for (index, column) in found.iter().enumerate() {
                let within = values.iter().filter(|(at, _)| (at / span * count as f64) as usize == index);
                prop_assert_eq!(*column, within.map(|(_, value)| *value).reduce(f64::max));
            }
            let greatest = values.iter().map(|(_, value)| *value).reduce(f64::max);
            prop_assert_eq!(found.into_iter().flatten().reduce(f64::max), greatest);
        }
    }
}

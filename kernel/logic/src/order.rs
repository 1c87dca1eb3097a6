// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Puts few items in order.

/// By `key`, smallest first; items of the same key stay as they are. The library's own calls itself, and a core's stack
/// is small. O(items²), O(items) for those that are in order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        for at in (1..=end).rev() {
            match items.get_mut(at - 1..=at) {
                Some([before, after]) if key(before) > key(after) => core::mem::swap(before, after),
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sort_by_key;

    #[test]
    fn items_are_put_in_order_and_equal_ones_keep_theirs() {
        let mut items = [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e')];
        sort_by_key(&mut items, |item| item.0);
        assert_eq!(items, [(1, 'b'), (1, 'e'), (2, 'd'), (3, 'a'), (3, 'c')]);
        sort_by_key(&mut [0u8; 0], |item| *item);
    }
}

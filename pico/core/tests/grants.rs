// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No call reaches a sector that was not granted, whatever numbers it has; and none that is granted is forwarded.

use proptest::prelude::*;
use tacet_pico::{Buffer, Buffers, Direction, Forward, Grant, MOST_BYTES, Request, Survey};

const GRANT: Grant = Grant {
    reads: true,
    writes: true,
    through: false,
    cached: true,
    namespace: 1,
    sector_shift: 9,
    first: 2048,
    count: 100,
};

fn one(address: u64, bytes: u64) -> Result<Survey, Forward> {
    Buffers::One(Buffer { address, bytes }).survey(|_| None)
}

fn read(address: u64, bytes: u64, offset: u64) -> Request {
    Request { direction: Direction::Read, memory: one(address, bytes).unwrap(), offset, through: false }
}

/// Numbers near where something ends.
fn edges() -> impl Strategy<Value = u64> {
    let near = |at: u64| (0..5u64).prop_map(move |n| at.wrapping_add(n).wrapping_sub(2));
    prop_oneof![
        any::<u64>(),
        (0..200u64).prop_map(|n| n << 9),
        near(0),
        near(100 << 9),
        near(MOST_BYTES),
        near(1 << 63),
        near(1 << 55),
        near(u64::MAX),
    ]
}

fn grants() -> impl Strategy<Value = Grant> {
    (any::<bool>(), any::<bool>(), 8..14u32, edges(), edges()).prop_map(
        |(reads, writes, sector_shift, first, count)| Grant {
            reads,
            writes,
            through: reads,
            cached: writes,
            namespace: 7,
            sector_shift,
            first,
            count,
        },
    )
}

/// The same question, with numbers that cannot overflow.
fn is_granted(grant: &Grant, (direction, address, bytes, offset): (Direction, u64, u64, u64)) -> bool {
    let wide = |number: u64| u128::from(number);
    let sector = 1u128 << grant.sector_shift;
    let allowed = if direction == Direction::Read { grant.reads } else { grant.writes };
    let end = wide(offset) + wide(bytes);
    allowed
        && (9..=12).contains(&grant.sector_shift)
        && (1..=wide(MOST_BYTES)).contains(&wide(bytes))
        && wide(bytes) % sector == 0
        && wide(offset) % sector == 0
        && offset < 1 << 63
        && address.is_multiple_of(4)
        && wide(address) + wide(bytes) <= wide(u64::MAX)
        && end <= wide(grant.count) * sector
        && wide(grant.first) + end / sector <= wide(u64::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn exactly_what_is_granted(grant in grants(), writes: bool, address in edges(), bytes in edges(), offset in edges()) {
        let direction = if writes { Direction::Write } else { Direction::Read };
        let request = one(address, bytes).map(|memory| Request { direction, memory, offset, through: false });
        let checked = request.and_then(|request| grant.check(&request));
        prop_assert_eq!(checked.is_ok(), is_granted(&grant, (direction, address, bytes, offset)), "{:?}", checked);
        if let Ok(transfer) = checked {
            prop_assert_eq!(transfer.sector, grant.first + (offset >> grant.sector_shift));
            prop_assert_eq!(u64::from(transfer.bytes), bytes);
            prop_assert_eq!(transfer.through, writes && grant.through);
        }
    }
}

#[test]
fn a_write_lasts_if_the_call_or_the_grant_says_so() {
    let write = Request { direction: Direction::Write, ..read(0x1000, 512, 0) };
    let is_through = |grant: Grant, request| grant.check(&request).unwrap().through;
    assert!(!is_through(GRANT, write));
    assert!(is_through(Grant { through: true, ..GRANT }, write));
    assert!(is_through(GRANT, Request { through: true, ..write }));
    assert!(!is_through(GRANT, Request { through: true, ..read(0x1000, 512, 0) }));
}

#[test]
fn the_rest_of_a_transfer_begins_where_its_first_part_ends() {
    let all = GRANT.check(&read(0x1000, 10 << 9, 3 << 9)).unwrap();
    let rest = all.behind(4 << 9);
    assert_eq!((rest.sector, rest.bytes), (2048 + 7, 6 << 9));
}

#[test]
fn all_of_a_grant_and_not_a_sector_more() {
    assert_eq!(GRANT.check(&read(0x1000, 100 << 9, 0)).map(|transfer| transfer.sector), Ok(2048));
    assert_eq!(GRANT.check(&read(0x1000, 512, 99 << 9)).map(|transfer| transfer.sector), Ok(2147));
    assert_eq!(GRANT.check(&read(0x1000, 1024, 99 << 9)), Err(Forward::Bounds));
    assert_eq!(GRANT.check(&read(0x1000, 512, 100 << 9)), Err(Forward::Bounds));
    assert_eq!(GRANT.check(&read(0x1000, 512, 0u64.wrapping_sub(512))), Err(Forward::Bounds));
    assert_eq!(GRANT.check(&read(0x1000, 0, 0)), Err(Forward::Bounds));
}

#[test]
fn misaligned_calls_and_missing_rights_are_told_apart() {
    assert_eq!(GRANT.check(&read(0x1000, 511, 0)), Err(Forward::Alignment));
    assert_eq!(GRANT.check(&read(0x1000, 512, 256)), Err(Forward::Alignment));
    assert_eq!(GRANT.check(&read(0x1002, 512, 0)), Err(Forward::Alignment));
    let write = Request { direction: Direction::Write, ..read(0x1000, 512, 0) };
    assert_eq!(Grant { writes: false, ..GRANT }.check(&write), Err(Forward::Rights));
    assert_eq!(Grant { sector_shift: 70, ..GRANT }.check(&write), Err(Forward::Rights));
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Integers that cores, and Linux, change at once, as the protocols of [`crate::handshake`] and [`crate::woken`] use
//! them.
//!
//! In the co-kernel they are `core`'s, and a protocol compiles to what it would be if it named these. In the tests they
//! are `loom`'s, which tries every interleaving, and weaker ones, with which a protocol must be found to fail.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// As the methods of the same names in `core`.
pub trait Atomic {
    type Value;

    fn load(&self, order: Ordering) -> Self::Value;
    fn store(&self, value: Self::Value, order: Ordering);
    fn swap(&self, value: Self::Value, order: Ordering) -> Self::Value;
    fn fetch_add(&self, value: Self::Value, order: Ordering) -> Self::Value;
    fn fetch_sub(&self, value: Self::Value, order: Ordering) -> Self::Value;
    fn fetch_or(&self, value: Self::Value, order: Ordering) -> Self::Value;

    /// May fail without cause.
    fn compare_exchange_weak(
        &self,
        current: Self::Value,
        new: Self::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Value, Self::Value>;

    fn fence(order: Ordering);
}

/// 32 bits.
pub trait Atomic32: Atomic<Value = u32> {}

/// 64 bits.
pub trait Atomic64: Atomic<Value = u64> {}

macro_rules! forward {
    ($atomic:ident, $value:ident, $width:ident) => {
        impl $width for $atomic {}

        impl Atomic for $atomic {
            type Value = $value;

            #[inline(always)]
            fn load(&self, order: Ordering) -> $value {
                $atomic::load(self, order)
            }

            #[inline(always)]
            fn store(&self, value: $value, order: Ordering) {
                $atomic::store(self, value, order);
            }

            #[inline(always)]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                $atomic::swap(self, value, order)
            }

            #[inline(always)]
            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                $atomic::fetch_add(self, value, order)
            }

            #[inline(always)]
            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                $atomic::fetch_sub(self, value, order)
            }

            #[inline(always)]
            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                $atomic::fetch_or(self, value, order)
            }

            #[inline(always)]
            fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                $atomic::compare_exchange_weak(self, current, new, success, failure)
            }

            #[inline(always)]
            fn fence(order: Ordering) {
                fence(order);
            }
        }
    };
}

forward!(AtomicU32, u32, Atomic32);
forward!(AtomicU64, u64, Atomic64);

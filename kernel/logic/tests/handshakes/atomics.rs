// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `loom`'s atomics behind the trait that the protocols use, as strong as they ask for or weaker.
//!
//! `loom` treats a sequentially consistent access as acquire and release; only its fences are in one order. So such an
//! access has a fence here, before it or after it: compilers do either, and a protocol must bear both.

use std::marker::PhantomData;

use loom::sync::atomic::{self, Ordering};
use tacet_logic::atomic::{Atomic, Atomic32, Atomic64};

/// How strong what was asked for is.
pub trait Strength: Send + Sync + 'static {
    /// The ordering of an access or a fence.
    fn of(order: Ordering) -> Ordering {
        order
    }

    const FENCE_BEFORE: bool = false;
    const FENCE_AFTER: bool = false;
}

/// As asked for: sequentially consistent accesses have their fence before.
pub struct Before;
/// As asked for: they have it after.
pub struct After;
/// Acquire and release at most: nothing is in one order that all see.
pub struct NoTotalOrder;
/// Nothing is ordered with anything else.
pub struct NoOrder;

impl Strength for Before {
    const FENCE_BEFORE: bool = true;
}

impl Strength for After {
    const FENCE_AFTER: bool = true;
}

impl Strength for NoTotalOrder {}

impl Strength for NoOrder {
    fn of(_order: Ordering) -> Ordering {
        Ordering::Relaxed
    }
}

/// 32 bits, as strong as `S`.
pub struct U32<S>(atomic::AtomicU32, PhantomData<S>);
/// 64 bits, as strong as `S`.
pub struct U64<S>(atomic::AtomicU64, PhantomData<S>);

macro_rules! implement {
    ($name:ident, $value:ident, $width:ident, $atomic:ty) => {
        impl<S: Strength> $name<S> {
            pub fn new(value: $value) -> Self {
                Self(<$atomic>::new(value), PhantomData)
            }

            fn access<T>(&self, order: Ordering, access: impl FnOnce(&$atomic, Ordering) -> T) -> T {
                let fences = order == Ordering::SeqCst;
                if fences && S::FENCE_BEFORE {
                    atomic::fence(order);
                }
                let done = access(&self.0, S::of(order));
                if fences && S::FENCE_AFTER {
                    atomic::fence(order);
                }
                done
            }
        }

        impl<S: Strength> $width for $name<S> {}

        impl<S: Strength> Atomic for $name<S> {
            type Value = $value;

            fn load(&self, order: Ordering) -> $value {
                self.access(order, |atomic, order| atomic.load(order))
            }

            fn store(&self, value: $value, order: Ordering) {
                self.access(order, |atomic, order| atomic.store(value, order))
            }

            fn swap(&self, value: $value, order: Ordering) -> $value {
                self.access(order, |atomic, order| atomic.swap(value, order))
            }

            fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.access(order, |atomic, order| atomic.fetch_add(value, order))
            }

            fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.access(order, |atomic, order| atomic.fetch_sub(value, order))
            }

            fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.access(order, |atomic, order| atomic.fetch_or(value, order))
            }

            fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.access(success, |atomic, success| {
                    atomic.compare_exchange_weak(current, new, success, S::of(failure))
                })
            }

            fn fence(order: Ordering) {
                // `loom` has no fence that is weaker than it was asked for, but none at all.
                if S::FENCE_BEFORE || S::FENCE_AFTER {
                    atomic::fence(order);
                }
            }
        }
    };
}

implement!(U32, u32, Atomic32, atomic::AtomicU32);
implement!(U64, u64, Atomic64, atomic::AtomicU64);

/// A core's bell: an interrupt that is on its way until the core takes it. What was written before it rang is seen
/// then.
pub struct Bell(atomic::AtomicBool);

impl Bell {
    pub fn new() -> Self {
        Self(atomic::AtomicBool::new(false))
    }

    pub fn ring(&self) {
        // An update: of several that ring before the core takes it, all are seen.
        self.0.swap(true, Ordering::AcqRel);
    }

    /// Whether it has rung: the interrupt happens here.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

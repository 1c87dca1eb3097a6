// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux as a CPU's host: what `tacet_core::Host` asks for, each from the file that has it.

use crate::context::{Context, ContextTable};
use crate::frames::Frames;
use crate::page::Page;
use crate::pico::Devices;
use crate::space::{Space, SpaceTable};
use core::fmt::Arguments;
use core::ptr::NonNull;
use tacet_abi::{TACET_LOG_INFO, tacet_cpu_boot};
use tacet_arch::Processor;
use tacet_arch::native::{Cpu, User};
use tacet_core::memory::Question;
use tacet_core::{Common, Escape, Host, Place, WakeRequest};
use tacet_logic::deadlines::Clock;
use tacet_pico::Descriptors;

/// What all CPUs of the partition share; the co-kernel's own memory.
static COMMON: Common = Common::new();

/// Linux, seen from one CPU. There is one value per CPU, made by [`crate::adopt`].
pub struct Linux {
    pub(crate) cpu: Cpu,
    pub(crate) page: Page,
    pub(crate) contexts: ContextTable,
    spaces: SpaceTable,
    /// Linux's number of this CPU.
    number: u32,
    node: u32,
    memory_base: u64,
    look_ns: u32,
    devices: Option<Devices>,
}

impl Linux {
    pub(crate) fn new(cpu: Cpu, page: Page, boot: &tacet_cpu_boot) -> Self {
        let (contexts, spaces) = (ContextTable::new(boot), SpaceTable::new(boot));
        let (memory_base, devices) = (boot.memory_base, Devices::new(boot));
        let look_ns = boot.look_ns;
        Self { cpu, page, contexts, spaces, number: boot.cpu, node: boot.node, memory_base, look_ns, devices }
    }
}

impl Host for Linux {
    type Processor = Cpu;
    type Thread<'a> = Context<'a>;
    type Space = Space;
    type Memory = Frames;
    type Devices = Devices;

    #[inline]
    fn processor(&self) -> &Cpu {
        &self.cpu
    }

    #[inline]
    fn common(&self) -> &Common {
        &COMMON
    }

    #[inline]
    fn cpu_number(&self) -> u32 {
        self.number
    }

    #[inline]
    fn node(&self) -> u32 {
        self.node
    }

    fn open_memory(&self) -> Option<Frames> {
        Frames::new(NonNull::new(self.memory_base as *mut _)?, self.node, self.page.frame_counters())
    }

    #[inline]
    fn granted(&self, thread: &Context<'_>) -> Option<Descriptors> {
        let space = thread.space();
        let has_grants = self.spaces.get(space)?.has_grants();
        has_grants.then(|| Descriptors { space, table: thread.descriptors() })
    }

    #[inline]
    fn devices(&self) -> Option<&Devices> {
        self.devices.as_ref()
    }

    #[inline]
    fn receive(&self) -> Option<u32> {
        self.next_posted()
    }

    #[inline]
    fn thread(&self, number: u32) -> Option<Context<'_>> {
        self.contexts.get(number)
    }

    #[inline]
    fn user<'a>(&'a self, thread: &Context<'a>) -> User<'a> {
        thread.user()
    }

    fn give_back(&self, number: u32, escape: Escape) {
        self.hand_back(number, escape);
    }

    #[inline]
    fn moved(&self, thread: &Context<'_>, from: Place, to: Place) {
        self.show(thread, from, to);
    }

    #[inline]
    fn space(&self, thread: &Context<'_>) -> Option<Space> {
        self.spaces.get(thread.space())
    }

    fn switched_to(&self, number: u32) {
        self.page.switched_to(number);
    }

    #[inline]
    fn count_entry(&self) {
        self.page.count_entry();
    }

    #[inline]
    fn count_progress(&self) {
        self.page.count_progress();
    }

    fn clock(&self) -> Option<Clock> {
        let (cycles, monotonic_ns) = self.page.clock()?;
        Some(Clock { cycles, monotonic_ns, cycles_per_ms: self.cpu.cycles_per_ms() })
    }

    #[inline]
    fn answers_within_ns(&self) -> u64 {
        u64::from(self.look_ns)
    }

    fn answer_wake(&self, wake: impl FnMut(WakeRequest) -> u32) {
        self.page.answer_wake(wake);
    }

    fn answer_question(&self, work: impl FnOnce(Question) -> i32) {
        self.page.answer_question(work);
    }

    fn test(&self) {
        self.do_test();
    }

    fn log(&self, text: &[u8]) {
        self.page.log(TACET_LOG_INFO, text);
    }

    fn die(&self, reason: Arguments<'_>) -> ! {
        crate::die(reason)
    }
}

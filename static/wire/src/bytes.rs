// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Little-endian fields, one after the other, in buffers of a fixed size.
//!
//! Everything that encodes or decodes messages uses these. Nothing here panics: a buffer that is too short gives
//! `None`.

/// Takes fields from the front of a message.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[must_use]
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Everything not taken yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A length of 32 bits, and so many bytes.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = self.u32()?;
        self.take(bytes as usize)
    }
}

/// Appends fields to a message.
#[derive(Debug)]
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    used: usize,
}

impl<'a> Writer<'a> {
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, used: 0 }
    }

    /// The message's length so far.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// The next bytes of the message, for the caller to fill.
    pub fn space(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let end = self.used.checked_add(bytes)?;
        let space = self.buffer.get_mut(self.used..end)?;
        self.used = end;
        Some(space)
    }

    /// Forgets what was appended after the first `used` bytes.
    pub fn rewind(&mut self, used: usize) {
        self.used = self.used.min(used);
    }

    /// Everything that the buffer has left.
    pub fn rest(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.used..).unwrap_or_default()
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.space(bytes.len())?.copy_from_slice(bytes);
        Some(())
    }

    pub fn u8(&mut self, value: u8) -> Option<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub fn u16(&mut self, value: u16) -> Option<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub fn u32(&mut self, value: u32) -> Option<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub fn u64(&mut self, value: u64) -> Option<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub fn i64(&mut self, value: i64) -> Option<()> {
        self.bytes(&value.to_le_bytes())
    }

    /// A length of 32 bits, and the bytes.
    pub fn text(&mut self, text: &[u8]) -> Option<()> {
        self.u32(u32::try_from(text.len()).ok()?)?;
        self.bytes(text)
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Takes the description of types (BTF) out of a kernel image or a module, packed or not.
//!
//! Must work on images of other versions than the running one: nothing here asks the running kernel.

use std::io::Read;

use object::{Object, ObjectSection};

use crate::Result;

/// Places in the header of an x86 kernel image (Documentation/arch/x86/boot.rst).
const SETUP_SECTORS: usize = 0x1f1;
const SIGNATURE: usize = 0x202;
const PAYLOAD: usize = 0x248;
const PAYLOAD_BYTES: usize = 0x24c;
/// The kernel's build appends the unpacked length to the packed data.
const TRAILER: usize = 4;

/// The section .BTF; `None` if the file has none.
pub fn types(file: &[u8]) -> Result<Option<Vec<u8>>> {
    let elf = elf(file)?;
    let elf = object::File::parse(elf.as_slice())?;
    Ok(match elf.section_by_name(".BTF") {
        Some(section) => Some(section.uncompressed_data()?.into_owned()),
        None => None,
    })
}

fn elf(file: &[u8]) -> Result<Vec<u8>> {
    if file.get(SIGNATURE..SIGNATURE + 4) != Some(b"HdrS") {
        return unpack(file);
    }
    let setup = (usize::from(file[SETUP_SECTORS]) + 1) * 512;
    let start = setup + word(file, PAYLOAD)?;
    let end = start + word(file, PAYLOAD_BYTES)?;
    let packed = file.get(start..end.saturating_sub(TRAILER)).ok_or("kernel image: truncated")?;
    unpack(packed)
}

fn word(file: &[u8], at: usize) -> Result<usize> {
    let bytes = file.get(at..at + 4).ok_or("kernel image: truncated")?;
    Ok(u32::from_le_bytes(bytes.try_into()?) as usize)
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    match packed {
        [0x7f, b'E', b'L', b'F', ..] => out.extend(packed),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => drop(liblzma::read::XzDecoder::new(packed).read_to_end(&mut out)?),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            ruzstd::decoding::StreamingDecoder::new(packed).map_err(|e| e.to_string())?.read_to_end(&mut out)?;
        }
        [0x02, 0x21, 0x4c, 0x18, ..] => drop(lz4_flex::frame::FrameDecoder::new(packed).read_to_end(&mut out)?),
        _ => return Err("kernel image: packed by something else than xz, zstd or LZ4".into()),
    }
    Ok(out)
}

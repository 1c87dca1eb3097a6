// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the image's header says to Linux (`image.h`).

/// How the header begins.
pub const MAGIC: u64 = tacet_abi::TACET_IMAGE_MAGIC;
/// Of the border that the image was built with.
pub const REVISION: u32 = tacet_abi::TACET_ABI_REVISION;
pub const HEADER_BYTES: usize = size_of::<tacet_abi::tacet_image_header>();

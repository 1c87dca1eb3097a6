// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The types as C text, with which the module is built.

use std::fmt::Write;

use crate::Types;

/// Bytes in one line.
const COLUMNS: usize = 16;

/// `types_of_kernel.h`.
pub fn c_text(types: &Types) -> String {
    let mut text = format!(
        "/* SPDX-License-Identifier: GPL-2.0 */\n\
         /* Written by tacet-layouts from a kernel's DWARF: its types as BTF, for kernel_types.c. */\n\
         #define TACET_TYPES_BUILD_ID \"{}\"\n\
         static const unsigned char tacet_types[] = {{\n",
        types.build_id
    );
    for line in types.btf.chunks(COLUMNS) {
        let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:#04x},")).collect();
        // writing into a String cannot fail
        let _ = writeln!(text, "\t{}", bytes.join(" "));
    }
    text + "};\n"
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls whose arguments mean something else for each command: ioctl, fcntl and socket options.
//!
//! Only commands listed here are shipped. A command may be added if its argument contains no pointer: the proxy's
//! addresses are not the program's, and a pointer that a node has made up could lead anywhere in the proxy.

use crate::calls::{Kind, Size};
use crate::errno::Errno;

const VALUE: Kind = Kind::Value;

const fn reads(bytes: u16) -> Kind {
    Kind::In(Size::Bytes(bytes))
}

const fn writes(bytes: u16) -> Kind {
    Kind::Out(Size::Bytes(bytes))
}

const fn changes(bytes: u16) -> Kind {
    Kind::InOut(Size::Bytes(bytes))
}

/// The kind of ioctl's third argument.
pub(crate) fn ioctl(code: u64) -> Option<Kind> {
    // As Linux does, by the low 32 bits.
    Some(match code & 0xffff_ffff {
        0x5401 => writes(36),                                                                 // TCGETS
        0x5402..=0x5404 => reads(36),           // TCSETS, TCSETSW, TCSETSF
        0x802c_542a => writes(44),              // TCGETS2
        0x402c_542b..=0x402c_542d => reads(44), // TCSETS2, TCSETSW2, TCSETSF2
        0x5409..=0x540b => VALUE,               // TCSBRK, TCXONC, TCFLSH
        0x540f | 0x5411 => writes(4),           // TIOCGPGRP, TIOCOUTQ
        0x5413 => writes(8),                    // TIOCGWINSZ
        0x5414 => reads(8),                     // TIOCSWINSZ
        0x541b | 0x5429 => writes(4),           // FIONREAD, TIOCGSID
        0x5421 | 0x5452 => reads(4),            // FIONBIO, FIOASYNC
        0x8004_5430 => writes(4),               // TIOCGPTN
        0x4004_5431 => reads(4),                // TIOCSPTLCK
        0x5450 | 0x5451 => VALUE,               // FIONCLEX, FIOCLEX
        0x5460 => writes(8),                    // FIOQSIZE
        2 => writes(4),                         // FIGETBSZ
        0x8905 => writes(4),                    // SIOCATMARK
        0x8910 | 0x8913 | 0x8915 | 0x8919 | 0x891b | 0x8921 | 0x8927 | 0x8933 => changes(40), // SIOCGIF…
        0x8914 => reads(40),                    // SIOCSIFFLAGS
        0x8008_6601 => writes(4),               // FS_IOC_GETFLAGS, whose number says 8
        0x4008_6602 => reads(4),                // FS_IOC_SETFLAGS
        0x4004_9409 => VALUE,                   // FICLONE
        0x4020_940d => reads(32),               // FICLONERANGE
        0x8008_1272 => writes(8),               // BLKGETSIZE64
        _ => return None,
    })
}

/// The kind of fcntl's third argument.
pub(crate) fn fcntl(command: u64) -> Option<Kind> {
    Some(match command & 0xffff_ffff {
        5 | 36 => changes(32),                 // F_GETLK, F_OFD_GETLK
        6 | 7 | 37 | 38 => reads(32),          // F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
        15 => reads(8),                        // F_SETOWN_EX
        16 | 17 => writes(8),                  // F_GETOWN_EX, F_GETOWNER_UIDS
        1035 | 1037 => writes(8),              // F_GET_RW_HINT, F_GET_FILE_RW_HINT
        1036 | 1038 => reads(8),               // F_SET_RW_HINT, F_SET_FILE_RW_HINT
        0..=4 | 8..=11 | 1024..=1034 => VALUE, // descriptors, flags, owners, leases, pipe sizes, seals
        _ => return None,
    })
}

/// Whether this socket option can be shipped: its value contains no pointer.
pub(crate) fn may_ship_option(level: u64, name: u64) -> bool {
    let (level, name) = (level & 0xffff_ffff, name & 0xffff_ffff);
    match level {
        // SOL_SOCKET without SO_ATTACH_FILTER and SO_ATTACH_REUSEPORT_CBPF; without SO_ZEROCOPY Linux copies what is sent,
        // as it must: the proxy's buffer is the next message's
        1 => ![26, 51, 60].contains(&name),
        // TCP without TCP_REPAIR's options and TCP_ZEROCOPY_RECEIVE
        6 => name < 19 || (23..35).contains(&name) || (36..=37).contains(&name),
        // IP and IPv6 without what netfilter adds
        0 | 41 => name < 64,
        // UDP, netlink, the algorithms of AF_ALG
        17 | 270 | 279 => true,
        _ => false,
    }
}

/// Refuses what a call may not do in a proxy, although it is shipped.
pub(crate) fn check(number: u32, arguments: &[u64; 6]) -> Result<(), Errno> {
    const CLOSE_RANGE: u32 = 436;
    const CLOSE_RANGE_UNSHARE: u64 = 2;
    let [_, _, third, ..] = *arguments;
    if number == CLOSE_RANGE && third & CLOSE_RANGE_UNSHARE != 0 {
        return Err(Errno::EINVAL);
    }
    Ok(())
}

use crate::args::{NodeArgs, NodeCommand};
use tacet_ctl::Result;
pub fn node(_c: NodeCommand, _a: NodeArgs, _j: bool) -> Result<u8> {
    Ok(0)
}

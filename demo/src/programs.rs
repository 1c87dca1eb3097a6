// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs that the demo runs besides the noise measurement, and the result of a run.

use crate::place::Place;

/// An ordinary program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Python,
    Mpi,
    Debugger,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its standard output, which must be the same on both sides.
    pub output: String,
    /// Its standard error: remarks about the place, such as CPU numbers.
    pub remarks: String,
    /// Did it exit with status 0?
    pub success: bool,
    /// How often the cores forwarded a call or a fault to Linux meanwhile; None on Linux.
    pub hand_overs: Option<u64>,
}

impl Program {
    pub const ALL: [Program; 3] = [Program::Python, Program::Mpi, Program::Debugger];

    /// The sources; `Site` copies them into the node.
    pub const SOURCES: [(&str, &str); 4] = [
        ("numeric.py", include_str!("../programs/numeric.py")),
        ("pi.c", include_str!("../programs/pi.c")),
        ("counter.c", include_str!("../programs/counter.c")),
        ("debug.sh", include_str!("../programs/debug.sh")),
    ];

    /// Compiles the programs in the node, as a user of the node would.
    pub const COMPILE: &str = "mpicc -O2 -o pi pi.c -lm && gcc -g -O1 -static -o counter counter.c";

    /// The command line. It tells MPI to use shared memory, so that MPI does not look for network cards first.
    pub fn command(self, place: Place) -> String {
        let prefix = place.prefix();
        match self {
            Program::Python => format!("{prefix} python3 numeric.py"),
            Program::Mpi => format!("mpirun -n 2 -genv UCX_TLS self,posix {prefix} ./pi"),
            Program::Debugger => format!("bash debug.sh {prefix}"),
        }
    }

    /// The title in the table.
    pub fn title(self) -> &'static str {
        match self {
            Program::Python => "Python with numpy",
            Program::Mpi => "MPI, 2 ranks",
            Program::Debugger => "gdb on a running program",
        }
    }

    /// Does the output of a run show that the program worked, besides being the same on both sides?
    pub fn is_well(self, place: Place, run: &Run) -> bool {
        let said = match self {
            Program::Python => run.output.contains("gives the product: True"),
            Program::Mpi => run.output.starts_with("2 ranks") && run.output.contains("right"),
            Program::Debugger => run.output.contains("debugger: yes") && run.output.contains("ended with 0"),
        };
        let there = match (place, self) {
            (Place::Linux, _) => run.hand_overs.is_none(),
            (Place::Tacet, Program::Mpi) => cpus(&run.remarks) == [2, 3] && run.hand_overs > Some(0),
            (Place::Tacet, Program::Debugger) => run.remarks.contains("hosted") && run.hand_overs > Some(0),
            (Place::Tacet, Program::Python) => run.hand_overs > Some(0),
        };
        run.success && said && there
    }
}

/// The CPUs that the ranks reported, in ascending order.
fn cpus(remarks: &str) -> Vec<u32> {
    let line = remarks.lines().find_map(|line| line.strip_prefix("cpus")).unwrap_or_default();
    let mut cpus: Vec<u32> = line.split_whitespace().flat_map(str::parse).collect();
    cpus.sort_unstable();
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(output: &str, remarks: &str, hand_overs: Option<u64>) -> Run {
        Run { output: output.into(), remarks: remarks.into(), success: true, hand_overs }
    }

    #[test]
    fn ranks_must_be_on_both_cores() {
        let well = |remarks, count| Program::Mpi.is_well(Place::Tacet, &run("2 ranks, pi, right", remarks, count));
        assert!(well("a warning\ncpus 3 2\n", Some(9)));
        assert!(!well("cpus 2 2\n", Some(9)));
        assert!(!well("cpus 2 3\n", Some(0)));
        assert!(!well("", Some(9)));
    }

    #[test]
    fn a_debugged_program_must_be_hosted_again() {
        let output = "went on without the debugger: yes\nended with 0\n";
        assert!(Program::Debugger.is_well(Place::Tacet, &run(output, "hosted\n", Some(1))));
        assert!(!Program::Debugger.is_well(Place::Tacet, &run(output, "", Some(1))));
        assert!(Program::Debugger.is_well(Place::Linux, &run(output, "", None)));
    }
}

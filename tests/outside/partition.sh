# SPDX-License-Identifier: Apache-2.0 OR MIT
# Read by the scripts that run programs, in a node or on this machine, as root: a partition of $cpus and $memory that does not
# outlive the script.
trap 'exit 130' INT
trap 'exit 143' TERM
trap at_end EXIT

# Removes what the script has besides the partition; a script that has something defines it anew.
at_end() { :; }

up() {
	tacet up --cpus "$cpus" --memory "$memory" >/dev/null
	trap 'at_end; tacet down --force >/dev/null' EXIT
}

down() {
	trap at_end EXIT
	tacet down "$@" >/dev/null
}

# SPDX-License-Identifier: Apache-2.0 OR MIT
# Read by the scripts that run programs, in a node or on this machine, as root: a partition of $cpus and $memory that does not
# outlive the script.
trap 'exit 130' INT
trap 'exit 143' TERM

up() {
	tacet up --cpus "$cpus" --memory "$memory" >/dev/null
	trap 'tacet down --force >/dev/null' EXIT
}

down() {
	trap - EXIT
	tacet down "$@" >/dev/null
}

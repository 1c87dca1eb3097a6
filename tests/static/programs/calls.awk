# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Makes the rows of calls.c from abi/syscalls.tbl: each call that a static node answers or ships, with the kinds of the
# arguments of a shipped one.
BEGIN { FS = "\t" }
/^#/ || NF < 5 || $4 ~ /^refuse/ { next }
{
	kinds = ""
	if (match($4, /ship\(.*\)/))
		kinds = substr($4, RSTART + 5, RLENGTH - 6)
	printf "{ %s, \"%s\", \"%s\" },\n", $1, $2, kinds
}

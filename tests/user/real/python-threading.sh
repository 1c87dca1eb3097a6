#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Without FULL=1, no tests of how Python ends and prints exceptions: each starts another interpreter.
. "$(dirname "$0")/lib"
ignored='-i AtexitTests -i SubinterpThreadingTests -i ThreadingExceptionTests'
[ "${FULL:-0}" = 1 ] && ignored=
# shellcheck disable=SC2086  # words are meant
python_test test_threading $ignored

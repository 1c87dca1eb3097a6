#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
. "$(dirname "$0")/lib"
# a virtual machine may have a vsock without a peer
python_test test_socket -i '*VSOCK*'

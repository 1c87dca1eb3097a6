# SPDX-License-Identifier: Apache-2.0 OR MIT
# Reads a file and prints facts about it. On four static nodes four processes do it at once.
import hashlib
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
words = text.split()
longest = max(words, key=len)
print(f"{len(words)} words, longest {longest!r}, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}")

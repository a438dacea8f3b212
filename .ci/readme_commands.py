"""Take the README's first two shell blocks, as they stand, and write them as scripts: first.sh and second.sh."""

import re
import sys
from pathlib import Path

readme, folder = Path(sys.argv[1]), Path(sys.argv[2])
blocks = re.findall(r"^```(?:sh|bash)\n(.*?)^```", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
if len(blocks) < 2:
    sys.exit(f"{readme}: two shell blocks are needed, found {len(blocks)}")
for name, block in zip(("first.sh", "second.sh"), blocks, strict=False):
    (folder / name).write_text(block, encoding="utf-8")

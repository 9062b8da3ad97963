"""Dead links: every relative link in a Markdown file of the project must lead to a file, and its #anchor to a heading.

`python -m tests.links` prints `FILE:LINE target: problem` and exits 1 if there is any.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def anchors(path: Path) -> set[str]:
    """Return the anchors of a Markdown file's headings, as code hosts make them."""
    headings = re.findall(r"^#+\s+(.+?)\s*$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problems(path: Path) -> list[str]:
    """Return the dead links of one file."""
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            if not other.exists():
                found.append(f"{path.relative_to(ROOT)}:{number} {target}: no such file")
            elif anchor and other.suffix == ".md" and anchor not in anchors(other):
                found.append(f"{path.relative_to(ROOT)}:{number} {target}: no such heading")
    return found


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    found = [problem for name in listed.stdout.split() for problem in problems(ROOT / name)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

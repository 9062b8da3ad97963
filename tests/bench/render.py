"""Splitting a long reply and closing an unfinished one, beside one reading of the same text by the Markdown library.

The reply is what a model writes: headings, lists, a table, code, Chinese; measured in characters (splitting alone) and as a
platform would, rendered in words and counted in UTF-16 units.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from markdown_it import MarkdownIt

from adapters.text import closed, plain, split

SECTION = """## Step {n}: 部署

Run the **deployment** in `region-{n}`, then check the [status page](https://status.example.com/{n}).
先备份，再执行；如果失败，请回滚。

1. Stop the service and wait until it is idle.
   - its queue must be empty
   - 日志里不能有错误
2. Deploy:
   ```sh
   kubectl rollout restart deploy/app-{n}  # 重启
   kubectl rollout status deploy/app-{n}
   ```

| service | state | 说明 |
|:--|--:|---|
| app | ok | 正常 |
| queue | {n} | 等待 |

> Note: numbers *may* differ 👩‍👩‍👧‍👦.

"""


LIBRARY = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def reply(characters: int) -> str:
    return "".join(SECTION.format(n=n) for n in range(1 + characters // 400))[:characters]


def units(piece: str) -> int:
    return len(plain(piece).encode("utf-16-le")) // 2


def best_ms(work: Callable[[], object], rounds: int = 5) -> float:
    def once() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return min(once() for _ in range(rounds)) * 1000


def figures(text: str) -> str:
    """Return the table's row for one reply."""
    bare = best_ms(lambda: LIBRARY.parse(text))
    ours = (
        best_ms(lambda: split(text, limit=3_900, measure=len)),
        best_ms(lambda: split(text, limit=4_096, measure=units)),
        best_ms(lambda: closed(text)),
    )
    pieces = len(split(text, limit=4_096, measure=units))
    cells = (f"{len(text):,}", str(pieces), f"{bare:.2f} ms", *(f"{ms:.2f} ms ({ms / bare:.2f}x)" for ms in ours))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    print("| characters | pieces | one reading by the library | split, by characters | split, rendered | closed |")
    print("| --- | --- | --- | --- | --- | --- |")
    for characters in (1_000, 4_000, 20_000, 100_000):
        print(figures(reply(characters)))


if __name__ == "__main__":
    main()

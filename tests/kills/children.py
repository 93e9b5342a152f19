"""The processes that another one started, as the kernel lists them: a fresh machine has no ps."""

from pathlib import Path


def children_of(parent: int) -> dict[int, str]:
    """Pid and command line of every live child."""
    children = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # "pid (name) state ppid …", and a name may hold anything.
            state, above = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(above) == parent and state != "Z":
                children[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:  # it ended meanwhile
            continue
    return dict(sorted(children.items()))

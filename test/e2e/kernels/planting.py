"""Plants synchronisation bugs in a kernel's assembly.

Three families:

- `drop`: one wait or signal less. One entry of one instruction's list is removed; an
  instruction that is nothing but synchronisation (`barrier`, `fence`, `signal.core`,
  a `wait` or `signal` with one entry) goes whole. Counts do not come out even then.
- `unordered`: all waits and signals of a semaphore go. Counts come out even, so only
  the order that was lost can be noticed.
- `early`: the semaphore starts with the units of one wait, and they are taken at the
  end: every wait passes one too early, and counts come out even.
"""

import dataclasses
import re

from common import ROOT

LIST = re.compile(r"\b(wait|signal)\(([^)]*)\)")
ENTRY = re.compile(r"s(\d+)\s*(>=|\+=)\s*(\d+)")
INSTRUCTION = re.compile(r"\bisa\.([a-z][a-z0-9_.]*)")
WHOLE = ("barrier", "fence", "signal.core")


@dataclasses.dataclass
class Mutant:
    family: str
    what: str  # for people: line and text
    source: str


def queues():
    """The queue of each instruction, from the generated reference."""
    text = (ROOT / "docs" / "isa.md").read_text()
    return {name: queue.strip() for name, queue in re.findall(
        r"^### `([^`]+)`$.*?^- \*\*Executed by:\*\* ([^\n]*)$", text, re.M | re.S)}


def without_comments(source):
    """Comments blanked out, so that positions stay."""
    return re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), source)


@dataclasses.dataclass
class Place:
    """An instruction with its extent in the text."""
    name: str
    start: int
    end: int


def places(source):
    """Instructions that may synchronise, in order; descriptors and loops not."""
    text = without_comments(source)
    starts = [(m.start(), m.group(1)) for m in INSTRUCTION.finditer(text)]
    result = []
    for index, (start, name) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(text)
        brace = re.search(r"[{}]", text[start:end])
        if brace:
            end = start + brace.start()
        result.append(Place(name, start, start + len(text[start:end].rstrip())))
    return result


def removed(source, place):
    """Another instruction takes its place: branch offsets stay right."""
    return f"{source[:place.start]}isa.mark id = 0{source[place.end:]}"


def drop_entry(source, place, found, index):
    """`source` without entry `index` of the list `found` of an instruction."""
    entries = [e.strip() for e in found.group(2).split(",")]
    rest = entries[:index] + entries[index + 1:]
    if not rest and place.name in ("wait", "signal"):
        return removed(source, place)
    text = f"{found.group(1)}({', '.join(rest)})" if rest else ""
    return source[:found.start()] + text + source[found.end():]


def lists(source, place):
    """The wait and signal lists of an instruction, as matches in `source`."""
    return list(LIST.finditer(without_comments(source), place.start, place.end))


def drops(source):
    for place in places(source):
        line = source.count("\n", 0, place.start) + 1
        if place.name in WHOLE:
            yield Mutant("drop", f"line {line}: {place.name}", removed(source, place))
        for found in lists(source, place):
            for index, entry in enumerate(found.group(2).split(",")):
                yield Mutant("drop", f"line {line}: {found.group(1)}({entry.strip()}) of {place.name}",
                             drop_entry(source, place, found, index))


def semaphores(source):
    """For each semaphore, of its waits: the queue, and the largest count."""
    queue_of = queues()
    result = {}
    for place in places(source):
        for found in lists(source, place):
            if found.group(1) != "wait":
                continue
            named = re.search(r"\bqueue\s*=\s*(\w+)", source[place.start:place.end])
            # The first matrix engine has no name in `mma`.
            queue = (named.group(1) if named else "mx" if place.name == "mma"
                     else queue_of[place.name])
            for sem, _, count in ENTRY.findall(found.group(2)):
                units = max(result.get(int(sem), (queue, 0))[1], int(count))
                result[int(sem)] = (queue, units)
    return result


def unordered(source):
    for sem in semaphores(source):
        text, at = source, 0
        while True:  # one entry at a time, from the end: positions before it stay
            for place in reversed(places(text)):
                hit = None
                for found in lists(text, place):
                    for index, entry in enumerate(found.group(2).split(",")):
                        if int(ENTRY.search(entry).group(1)) == sem:
                            hit = (found, index)
                if hit:
                    text = drop_entry(text, place, *hit)
                    break
                remote = re.search(r"\bsem\s*=\s*s?(\d+)", text[place.start:place.end])
                if place.name == "signal.core" and remote and int(remote.group(1)) == sem:
                    text = removed(text, place)
                    break
            else:
                break
        yield Mutant("unordered", f"s{sem}", text)


def early(source):
    for sem, (queue, units) in semaphores(source).items():
        instructions = [p for p in places(source) if p.name != "descriptor"]
        first = next(p for p in instructions if p.name not in ("map_program", "kernel"))
        text = source
        for place in reversed(instructions):
            if place.name == "halt":
                text = (f"{text[:place.start]}isa.wait queue = {queue} wait(s{sem} >= {units})\n"
                        f"{text[place.start:]}")
        text = (f"{text[:first.start]}isa.signal queue = seq signal(s{sem} += {units})\n"
                f"{text[first.start:]}")
        yield Mutant("early", f"s{sem} by {units}", text)


def mutants(source):
    yield from drops(source)
    yield from unordered(source)
    yield from early(source)

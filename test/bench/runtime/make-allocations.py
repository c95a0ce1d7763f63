#!/usr/bin/env python3
"""Writes allocations.txt: the allocations of a device that serves two models.

Made, not recorded: a decoder-only transformer of 24 layers (width 1024, vocabulary
32,000, f16) whose requests of random prompt lengths come and go, each with key and
value blocks that grow with its tokens, and an image classifier whose batch size
changes, loaded and unloaded now and then. Sizes are those of the tensors; order and
lengths come from a linear congruential generator, so the file is always the same.

Lines: `+ block bytes` and `- block`.
"""

import pathlib

WIDTH, LAYERS, VOCABULARY, F16 = 1024, 24, 32000, 2
KIB = 1024


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


class Trace:
    def __init__(self):
        self.lines, self.next = [], 0

    def take(self, size):
        self.lines.append(f"+ {self.next} {size}")
        self.next += 1
        return self.next - 1

    def give(self, blocks):
        for block in blocks:
            self.lines.append(f"- {block}")


def main():
    random, trace = Random(7), Trace()
    # The transformer's weights stay.
    trace.take(VOCABULARY * WIDTH * F16)
    for _ in range(LAYERS):
        for size in (4 * WIDTH * WIDTH, 8 * WIDTH * WIDTH, 2 * WIDTH):
            trace.take(size * F16)
    requests, classifier = [], []
    channels = (64, 128, 256, 512)
    for step in range(1500):
        # A new request: key and value blocks of 128 tokens for all its layers.
        if len(requests) < 6 and random.below(3) == 0:
            prompt = 64 + random.below(1500)
            blocks = [trace.take(2 * 128 * WIDTH * F16 * LAYERS // 4)
                      for _ in range((prompt + 127) // 128)]
            requests.append([prompt, prompt + 32 + random.below(400), blocks])
            # What the prompt's pass needs for as long as it lasts.
            working = [trace.take(prompt * WIDTH * F16), trace.take(prompt * 4 * WIDTH * F16),
                       trace.take(16 * prompt * prompt * F16)]
            trace.give(working)
        # One token of each.
        working = [trace.take(max(len(requests), 1) * VOCABULARY * F16), trace.take(64 * KIB)]
        for request in requests:
            request[0] += 8
            if request[0] // 128 >= len(request[2]):
                request[2].append(trace.take(2 * 128 * WIDTH * F16 * LAYERS // 4))
        trace.give(working)
        for request in [r for r in requests if r[0] >= r[1]]:
            trace.give(request[2])
            requests.remove(request)
        # The classifier comes, changes its batch, goes.
        if not classifier and random.below(40) == 0:
            classifier = [trace.take(9 * a * b * F16 + b * 4)
                          for a, b in zip((3,) + channels, channels)]
        elif classifier and random.below(120) == 0:
            trace.give(classifier)
            classifier = []
        if classifier and random.below(4) == 0:
            batch = 1 + random.below(16)
            side, working = 112, []
            for count in channels:
                working.append(trace.take(batch * count * side * side * F16))
                if len(working) > 2:
                    trace.give([working.pop(0)])
                side //= 2
            trace.give(working)
    path = pathlib.Path(__file__).parent / "allocations.txt"
    header = "# Made by make-allocations.py, which says how.\n"
    path.write_text(header + "\n".join(trace.lines) + "\n")


if __name__ == "__main__":
    main()

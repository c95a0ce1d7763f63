"""What became of a kernel with a planted bug."""

from framework import Broken, speeds

CHECKS = "--sanitize=race,memory,sync"


def judge(kernel, work, mutant, redundant_speeds=None):
    """'refused', 'reported: race+sync', or 'redundant'.

    Redundant is what the race checker passes: its verdict comes from the order that
    queues, semaphores and barriers impose, not from when things happened in this run, so
    it holds for all speeds. That is tried too: the results must be right, byte for byte,
    on machines of other speeds. Anything else, such as a wrong result without a report,
    is Broken.
    """
    what = f"{kernel.name}: {mutant.family}: {mutant.what}"
    target, message = kernel.assemble(work, mutant.source)
    if target is None:
        if f"kernel '" not in message:  # the program check names the kernel
            raise Broken(f"{what}: the mutant is no assembly: {message}")
        return "refused"
    outcome = kernel.execute(work, target, CHECKS)
    found = outcome.findings()
    if outcome.status == 0:
        if found:
            raise Broken(f"{what}: findings and status 0")
        if not kernel.is_right(outcome.outputs):
            raise Broken(f"{what}: wrong result, and nothing reported")
        for arch in redundant_speeds or speeds(kernel, work):
            other = kernel.execute(work, target, arch=arch)
            if other.status != 0 or not kernel.is_right(other.outputs):
                raise Broken(f"{what}: passed by the checker, but wrong on {arch.name}: {other.errors}")
        return "redundant"
    if not found:
        raise Broken(f"{what}: status {outcome.status} and no finding: {outcome.errors}")
    return "reported: " + "+".join(sorted(found))

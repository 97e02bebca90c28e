"""lit's shell tests, of which a run takes a sample: imported by lit.cfg.py, and by lit's workers.

A test with a line `SAMPLE: GROUP N` is one of a group that shows much the same (of `costly`: one of those that take longest); N of the group run, drawn by the seed, and the others count as
skipped. With TESSERA_FULL=1 all run."""
import os
import random
import re

import lit.formats
import lit.Test

LINE = re.compile(r"^(?://|#|;)?\s*SAMPLE: (\S+) (\d+)$", re.M)


def left_out(root, seed, share=1.0):
    """Paths of tests that this seed does not draw. Every member of a group is as likely as any other. Of all tests `share` is drawn: the sanitizers,
    which are slow, look at a part of what the release tree runs whole."""
    groups, result = {}, set()
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".test", ".mlir")):
                path = os.path.join(folder, name)
                if random.Random(f"{seed} {os.path.relpath(path, root)}").random() >= share:
                    result.add(path)
                with open(path, errors="replace") as file:
                    found = LINE.search(file.read(2000))
                if found:
                    groups.setdefault((found[1], int(found[2])), []).append(path)
    for (group, count), paths in groups.items():
        drawn = random.Random(f"{seed} {group}").sample(sorted(paths), min(count, len(paths)))
        result |= set(paths) - set(drawn)
    return result


class SampledTest(lit.formats.ShTest):
    def __init__(self, absent, seed):
        super().__init__(execute_external=False)
        self.absent, self.seed = absent, seed

    def execute(self, test, lit_config):
        if test.getSourcePath() in self.absent:
            # lit's report names the features that a test lacks, and nothing else of why it was left out.
            test.requires = [*test.requires, "full"]
            return lit.Test.Result(lit.Test.UNSUPPORTED, f"not in the sample of seed {self.seed}; ./scripts/test --full runs it")
        return super().execute(test, lit_config)

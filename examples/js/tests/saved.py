"""Prints what saved.json has: a Mix of datasets with names and a schedule, as
Python saves it, and what it served; and one that has passed over epochs.

    PYTHONPATH=examples/python python3 examples/js/tests/saved.py"""

import json

from statesampler import Mix, Schedule


def stage(turn):
    """3 to 7 turns, in some of which there is no code."""
    return 3 + turn % 5, {"wiki": 1, "code": turn % 3, "maths": 0.7}


mix = Mix({"wiki": 9, "code": 8, "maths": 30}, rank=0, world_size=1,
          batch_size=2, seed=3, schedule=Schedule(stage))
served = []
for turn in range(40):
    if turn == 25:
        mix.seek(60)
    served.append([mix.step, [*next(mix)]])
begun = Mix([9, 8], rank=0, world_size=1, batch_size=2)
next(begun)
begun.begin(4)
print(json.dumps({"saved": mix.save().hex(), "served": served,
                  "begun": begun.save().hex()}))

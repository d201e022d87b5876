"""A verifier of your own for vigorlab:

    vigorlab rollout ... --verifier 'command:python3 sim/reward/examples/judge.py'

It reads a JSON object a line, with the prompt, the completion, the answer, whether
the completion was truncated, and an id; it writes one for each, with that id and a
reward in [0, 1], and flushes it. Put what you need in place of reward(): a call of
math-verify, a model that judges. What it prints elsewhere belongs on stderr.
"""

import json
import sys


def reward(prompt: str, completion: str, answer: str) -> float:
    """1 if the last word is the answer, a half if the answer is there at all."""
    words = completion.split()
    if words and words[-1].strip(".!") == answer:
        return 1.0
    return 0.5 if answer and answer in words else 0.0


for line in sys.stdin:
    item = json.loads(line)
    reply = {"id": item["id"]}
    try:
        reply["reward"] = reward(item["prompt"], item["completion"], item["answer"])
    except Exception as error:  # the verifier's failure, not the completion's
        reply["error"] = repr(error)
    print(json.dumps(reply), flush=True)

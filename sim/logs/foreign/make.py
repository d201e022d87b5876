#!/usr/bin/python3
"""Writes slime's dumps as torch.save itself writes them: rollout_0.pt with plain
numbers, rollout_1.pt with tensors and NumPy's arrays beside the rewards, and in
protocol 4, rollout_2.pt with rewards that are NumPy's. Needs Debian's python3-torch and
python3-numpy; run by hand in ../testdata/real."""
import numpy
import torch

# prompt, rewards of its group
GROUPS = [("What is 3+4?", [1.0, 0.0, 1.0]), ("What is 12*12?", [0.0, 0.0, 1.0]), ("Was ist 7·8?", [1.0, 1.0, 1.0])]


def samples(reward, extra):
    index = 0
    for group, (prompt, rewards) in enumerate(GROUPS):
        for r in rewards:
            yield {
                "group_index": group, "index": index, "prompt": prompt, "tokens": list(range(70 + index)),
                "response": "yes" if r else "no", "response_length": 2 + index, "label": None, "reward": reward(r),
                "loss_mask": [1] * 70, "weight_versions": ["1"], "rollout_log_probs": [-0.1 * k for k in range(70)],
                "remove_sample": False, "status": "truncated" if index == 4 else "completed", "metadata": {}, "train_metadata": None,
                **extra(index),
            }
            index += 1


torch.save({"rollout_id": 0, "samples": list(samples(float, lambda i: {}))}, "rollout_0.pt")
torch.save(
    {
        "rollout_id": 1,
        "metadata": {"lr": torch.tensor(1e-6)},
        "samples": list(samples(float, lambda i: {"tokens": torch.arange(70 + i), "rollout_log_probs": numpy.ones(70, numpy.float32)})),
    },
    "rollout_1.pt",
    pickle_protocol=4,
)
# rewards that only code could make
torch.save({"rollout_id": 2, "samples": list(samples(numpy.float64, lambda i: {}))}, "rollout_2.pt")

#!/usr/bin/python3
"""Trains the project's own model and writes model.gguf, prompts.jsonl and
estimates.json into ../testdata. Run by hand: `make model` (Debian's python3-torch).

The model is a LLaMA-architecture transformer of 117,184 parameters over
characters. It learns two tasks:

  17+25=   ->  42                    the sum, 1 to 3 characters
  7*6=     ->  7 14 21 28 35 42      the product by running sums, 1 to 30

Sums have both terms in 0..49; products are a*b with a in 1..19 and b in 1..9. A completion is
right if it is this text and nothing else, so each prompt has one right text,
and its success probability is one product of token probabilities.

Training stops early on purpose: success probabilities should spread over (0, 1).

Repeatable as far as torch allows: seeds are fixed, one thread, batches drawn by
Python's own generator. Another torch or processor may round otherwise and end
in another model; testdata/rates.py must be run again after every training.
"""
import json
import random
import re
import struct
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

SEED = 1
STEPS = 400  # early stop, see above
BATCH = 64
RATE = 2e-3
WARM_UP = 100  # steps

WIDTH, LAYERS, HEADS, HIDDEN = 64, 2, 4, 128
HEAD = WIDTH // HEADS
CONTEXT = 64  # 37 are used: BOS, prompt of 5, answer of 30, end
EPSILON = 1e-5
ROPE_BASE = 10000.0

# A SentencePiece vocabulary: the three control tokens, one token for every byte
# (llama.cpp refuses a vocabulary without them), then the characters.
CHARACTERS = "0123456789+*= "
UNK, BOS, EOS = 0, 1, 2
FIRST = 3 + 256
VOCABULARY = FIRST + len(CHARACTERS)

SUMS = [(a, "+", b) for a in range(50) for b in range(50)]
PRODUCTS = [(a, "*", b) for a in range(1, 20) for b in range(1, 10)]
MAX_TOKENS = 21  # of a completion, end included; see testdata/rates.py

OUT = Path(__file__).resolve().parent.parent / "testdata"


def encode(text):
    return [FIRST + CHARACTERS.index(c) for c in text]


def answer(a, op, b):
    """Returns the one right completion of a op b."""
    if op == "+":
        return str(a + b)
    return " ".join(str(a * k) for k in range(1, b + 1))


class Norm(nn.Module):
    """Root-mean-square normalisation."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


FREQUENCIES = ROPE_BASE ** -(torch.arange(0, HEAD, 2).float() / HEAD)
ANGLES = torch.outer(torch.arange(CONTEXT).float(), FREQUENCIES)


def rotate(x):
    """Rotary position embedding on interleaved pairs (0, 1), (2, 3), ...:
    llama.cpp's convention for LLaMA, not that of two halves."""
    cos, sin = ANGLES[: x.shape[2]].cos(), ANGLES[: x.shape[2]].sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn_norm, self.ffn_norm = Norm(), Norm()
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=False))
        self.ffn_gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.ffn_up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.ffn_down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = lambda y: y.view(batch, length, HEADS, HEAD).transpose(1, 2)
        y = self.attn_norm(x)
        q, k, v = rotate(heads(self.attn_q(y))), rotate(heads(self.attn_k(y))), heads(self.attn_v(y))
        mask = torch.full((length, length), float("-inf")).triu(1)
        weights = (q @ k.transpose(-1, -2) / HEAD**0.5 + mask).softmax(-1)
        x = x + self.attn_output((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = Norm()
        self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0, 0.06)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))


IGNORED = -100  # cross_entropy's mark of a position without a loss


def draw_batch(r):
    """Draws prompts and the targets of their completions, end included."""
    rows = []
    for _ in range(BATCH):
        if r.random() < 0.5:
            a, op, b = r.choice(SUMS)
        else:
            a, op, b = r.choice(PRODUCTS)
        rows.append(([BOS] + encode(f"{a}{op}{b}="), encode(answer(a, op, b)) + [EOS]))
    length = max(len(p) + len(q) for p, q in rows) - 1
    tokens = torch.full((BATCH, length), EOS)
    targets = torch.full((BATCH, length), IGNORED)
    for i, (p, q) in enumerate(rows):
        tokens[i, : len(p) + len(q) - 1] = torch.tensor(p + q[:-1])
        targets[i, len(p) - 1 : len(p) + len(q) - 1] = torch.tensor(q)
    return tokens, targets


def success(model, a, op, b):
    """Returns the success probability in float32, to see how training goes."""
    p, q = [BOS] + encode(f"{a}{op}{b}="), encode(answer(a, op, b)) + [EOS]
    with torch.no_grad():
        logs = model(torch.tensor([p + q[:-1]]))[0, len(p) - 1 :].log_softmax(-1)
    return logs[torch.arange(len(q)), q].sum().exp().item()


def train(problems):
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    r = random.Random(SEED)
    model = Model()
    print(sum(p.numel() for p in model.parameters()), "parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, step / WARM_UP)
        tokens, targets = draw_batch(r)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            rates = sorted(success(model, *p) for p in problems)
            print(step, f"loss {loss.item():.3f}, deciles", *(f"{rates[len(rates) * d // 10]:.2f}" for d in range(10)), flush=True)
    return model


def silence(model):
    """Gives the tokens that no text has (unknown, beginning, bytes) one output
    row, four times the mean of theirs. Training pushes them down together, to a
    few thousandths in all when it stops early, enough to blur exact rates: as a
    byte token may spell a digit. Four times as low nothing is left of them."""
    unused = [UNK, BOS] + list(range(3, FIRST))
    with torch.no_grad():
        model.output.weight[unused] = 4 * model.output.weight[unused].mean(0)


def draw_problems():
    """Draws the prompts of the tests: 64 sums, and 64 products evenly by the
    length of their right text, but none whose right text has exactly MAX_TOKENS
    characters: it would be cut off and still be right."""
    r = random.Random(SEED)
    products = sorted((p for p in PRODUCTS if len(answer(*p)) != MAX_TOKENS), key=lambda p: len(answer(*p)))
    return r.sample(SUMS, 64) + [products[i * len(products) // 64] for i in range(64)]


def write_prompts(problems):
    with open(OUT / "prompts.jsonl", "w") as f:
        for a, op, b in problems:
            f.write(json.dumps({"id": f"{a}{op}{b}", "prompt": f"{a}{op}{b}=", "answer": answer(a, op, b)}) + "\n")


DRAWS = 4096  # completions of a prompt behind its estimates


def draw_completions(model, prompt, generator):
    """Draws DRAWS completions and returns (tokens, count, ended) for each that
    differs. Completions that begin alike are counted together: each step draws
    how many of a beginning's completions go on with which token."""
    context = [BOS] + encode(prompt)
    beginnings, out = {(): DRAWS}, []
    for _ in range(MAX_TOKENS):
        texts, counts = list(beginnings), list(beginnings.values())
        with torch.no_grad():
            laws = model(torch.tensor([context + list(t) for t in texts]))[:, -1].softmax(-1)
        beginnings = {}
        for text, count, law in zip(texts, counts, laws):
            drawn = torch.multinomial(law, count, replacement=True, generator=generator).bincount()
            for token in drawn.nonzero().flatten().tolist():
                if token == EOS:
                    out.append((text, int(drawn[token]), True))
                else:
                    beginnings[text + (token,)] = int(drawn[token])
        if not beginnings:
            break
    return out + [(text, count, False) for text, count in beginnings.items()]


def decode(tokens):
    return "".join(CHARACTERS[t - FIRST] if t >= FIRST else "?" for t in tokens)


def last_number(text):
    runs = re.findall("[0-9]+", text)
    return int(runs[-1]) if runs else None


def estimate(completions, figure):
    """Returns mean and standard error of a figure of (text, ended)."""
    values = [(figure(text, ended), count) for text, count, ended in completions]
    mean = sum(v * n for v, n in values) / DRAWS
    variance = sum((v - mean) ** 2 * n for v, n in values) / (DRAWS - 1)
    return {"mean": round(mean, 6), "se": round((variance / DRAWS) ** 0.5, 6)}


def write_estimates(model, problems):
    """Writes what has no short exact sum: tokens of a completion, end counted,
    share cut off, share whose last run of digits is the result."""
    generator = torch.Generator().manual_seed(SEED)
    estimates = {}
    for a, op, b in problems:
        result = a + b if op == "+" else a * b
        drawn = draw_completions(model, f"{a}{op}{b}=", generator)
        estimates[f"{a}{op}{b}"] = {
            "length": estimate(drawn, lambda text, ended: len(text) + ended),
            "cut_off": estimate(drawn, lambda text, ended: not ended),
            "last_number": estimate(drawn, lambda text, ended: last_number(decode(text)) == result),
        }
    rows = ",\n".join(f"  {json.dumps(id)}: {json.dumps(e)}" for id, e in estimates.items())
    head = f' "made_by": "train.py, torch {torch.__version__}",\n "max_tokens": {MAX_TOKENS},\n "draws": {DRAWS},\n'
    (OUT / "estimates.json").write_text(f'{{\n{head} "estimates": {{\n{rows}\n }}\n}}\n')


# GGUF version 3: header, metadata, tensor descriptions, then the data, each
# tensor at a multiple of 32 bytes.
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # kinds of tokens
ALIGNMENT = 32


def string(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def value(kind, v):
    if kind == STRING:
        return string(v)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], v)


def entry(key, kind, v):
    return string(key) + struct.pack("<I", kind) + value(kind, v)


def array(key, kind, vs):
    return string(key) + struct.pack("<IIQ", ARRAY, kind, len(vs)) + b"".join(value(kind, v) for v in vs)


def metadata():
    # SentencePiece writes a space as U+2581.
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + list(CHARACTERS.replace(" ", "\u2581"))
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(CHARACTERS)
    chat = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}"
    return [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "vigorlab-arithmetic"),
        entry("general.file_type", UINT32, 0),  # all float32
        entry("llama.context_length", UINT32, CONTEXT),
        entry("llama.embedding_length", UINT32, WIDTH),
        entry("llama.block_count", UINT32, LAYERS),
        entry("llama.feed_forward_length", UINT32, HIDDEN),
        entry("llama.attention.head_count", UINT32, HEADS),
        entry("llama.attention.head_count_kv", UINT32, HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", FLOAT32, EPSILON),
        entry("llama.rope.dimension_count", UINT32, HEAD),
        entry("llama.rope.freq_base", FLOAT32, ROPE_BASE),
        entry("llama.vocab_size", UINT32, VOCABULARY),
        entry("tokenizer.ggml.model", STRING, "llama"),
        entry("tokenizer.ggml.pre", STRING, "default"),
        array("tokenizer.ggml.tokens", STRING, tokens),
        array("tokenizer.ggml.scores", FLOAT32, [0.0] * VOCABULARY),  # nothing merges
        array("tokenizer.ggml.token_type", INT32, kinds),
        entry("tokenizer.ggml.bos_token_id", UINT32, BOS),
        entry("tokenizer.ggml.eos_token_id", UINT32, EOS),
        entry("tokenizer.ggml.unknown_token_id", UINT32, UNK),
        entry("tokenizer.ggml.add_bos_token", BOOL, True),
        entry("tokenizer.ggml.add_eos_token", BOOL, False),
        entry("tokenizer.ggml.add_space_prefix", BOOL, False),  # or a space goes before every prompt
        entry("tokenizer.chat_template", STRING, chat),
    ]


def tensors(model):
    """Yields names by llama.cpp's convention, and values."""
    yield "token_embd.weight", model.embedding.weight
    yield "output_norm.weight", model.norm.weight
    yield "output.weight", model.output.weight
    for i, block in enumerate(model.blocks):
        for name, p in block.named_parameters():
            yield f"blk.{i}.{name}", p


def pad(b):
    return b + bytes(-len(b) % ALIGNMENT)


def write_gguf(model):
    described, data = [], b""
    for name, p in tensors(model):
        shape = p.shape[::-1]  # fastest dimension first
        described.append(string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data)))
        data += pad(p.detach().contiguous().numpy().tobytes())
    entries = metadata()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(described), len(entries)) + b"".join(entries + described)
    (OUT / "model.gguf").write_bytes(pad(head) + data)


if __name__ == "__main__":
    problems = draw_problems()
    write_prompts(problems)
    model = train(problems)
    silence(model)
    write_gguf(model)
    write_estimates(model, problems)

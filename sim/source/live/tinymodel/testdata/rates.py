"""Success probabilities of model.gguf on prompts.jsonl, by another route than
the training: a reader of GGUF and a forward pass in plain Python and double
precision. No torch, no numpy.

    python3 rates.py > rates.json

One text is right for each prompt, its answer. With at most max_tokens tokens,
the end token counted, the rate is

    prod_i P(token i of the answer | prompt, tokens before i) * P(end | prompt, answer)

at temperature 1 with every token a candidate, and 0 where the answer and its end
need more than max_tokens. An answer of exactly max_tokens characters would be
right without its end: prompts.jsonl has none, which is checked here.

Other tokens can spell the same text: the byte token of a character stands for
it, control tokens spell nothing, and a verifier that trims completions lets
spaces, and bytes that make one, pass at both ends. "more" bounds from above what
all of these add to the rate: the probability that the answer is left for such a
token,

    sum_i P(tokens before i) * P(such a token | tokens before i),

the end included, where a space before the answer counts only if the answer or
another such token follows it, a space after the answer only if an end or another
such token does. It is 0 where the answer does not fit: no text that is cut
off before its answer is complete is right.
"""
import json
import math
import struct
import sys
from operator import mul

MAX_TOKENS = 21
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
SCALARS = {UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values[0] if len(values) == 1 else values

    def string(self):
        n = self.take("<Q")
        self.at += n
        return self.data[self.at - n : self.at].decode()

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            inner, n = self.take("<I"), self.take("<Q")
            return [self.value(inner) for _ in range(n)]
        return self.take(SCALARS[kind])


def read_gguf(path):
    """Returns the metadata and the tensors, a matrix as a list of its rows."""
    r = Reader(open(path, "rb").read())
    magic, version, tensors, entries = r.take("<4sIQQ")
    if (magic, version) != (b"GGUF", 3):
        sys.exit(f"{path}: {magic} version {version}, want GGUF version 3")
    meta = {}
    for _ in range(entries):
        key = r.string()
        meta[key] = r.value(r.take("<I"))
    described = []
    for _ in range(tensors):
        name = r.string()
        shape = [r.take("<Q") for _ in range(r.take("<I"))]
        if r.take("<I") != 0:
            sys.exit(f"{path}: {name} is not float32")
        described.append((name, shape, r.take("<Q")))
    start = -(-r.at // 32) * 32
    weights = {}
    for name, shape, offset in described:
        flat = struct.unpack_from(f"<{math.prod(shape)}f", r.data, start + offset)
        width = shape[0]
        rows = [list(flat[i : i + width]) for i in range(0, len(flat), width)]
        weights[name] = rows if len(shape) == 2 else rows[0]
    return meta, weights


def dot(x, y):
    return math.fsum(map(mul, x, y))


def times(rows, x):
    return [dot(row, x) for row in rows]


def softmax(x):
    top = max(x)
    e = [math.exp(v - top) for v in x]
    total = math.fsum(e)
    return [v / total for v in e]


class Model:
    def __init__(self, path):
        self.meta, self.weights = read_gguf(path)
        self.blocks = self.meta["llama.block_count"]
        self.heads = self.meta["llama.attention.head_count"]
        self.width = self.meta["llama.embedding_length"] // self.heads
        self.bos = self.meta["tokenizer.ggml.bos_token_id"]
        self.eos = self.meta["tokenizer.ggml.eos_token_id"]
        tokens = self.meta["tokenizer.ggml.tokens"]
        self.unk = self.meta["tokenizer.ggml.unknown_token_id"]
        self.bytes = [tokens.index(f"<0x{b:02X}>") for b in range(256)]
        self.ids = {t.replace("\u2581", " "): i for i, t in enumerate(tokens) if len(t) == 1}

    def norm(self, x, name):
        scale = 1 / math.sqrt(dot(x, x) / len(x) + self.meta["llama.attention.layer_norm_rms_epsilon"])
        return [v * scale * w for v, w in zip(x, self.weights[name])]

    def rotate(self, x, position):
        """Turns the pair (2i, 2i+1) of every head by position * base^(-2i/width)."""
        out = []
        for j in range(0, len(x), 2):
            angle = position * self.meta["llama.rope.freq_base"] ** (-(j % self.width) / self.width)
            c, s = math.cos(angle), math.sin(angle)
            out += [x[j] * c - x[j + 1] * s, x[j] * s + x[j + 1] * c]
        return out

    def attend(self, q, keys, values):
        out = []
        for h in range(self.heads):
            part = slice(h * self.width, (h + 1) * self.width)
            weights = softmax([dot(q[part], k[part]) / math.sqrt(self.width) for k in keys])
            out += [dot(weights, column) for column in zip(*(v[part] for v in values))]
        return out

    def step(self, token, position, cache):
        """Runs one token through all blocks; cache grows by its keys and values."""
        x = self.weights["token_embd.weight"][token]
        for i in range(self.blocks):
            w = lambda name: self.weights[f"blk.{i}.{name}.weight"]
            y = self.norm(x, f"blk.{i}.attn_norm.weight")
            keys, values = cache[i]
            keys.append(self.rotate(times(w("attn_k"), y), position))
            values.append(times(w("attn_v"), y))
            y = self.attend(self.rotate(times(w("attn_q"), y), position), keys, values)
            x = [a + b for a, b in zip(x, times(w("attn_output"), y))]
            y = self.norm(x, f"blk.{i}.ffn_norm.weight")
            gate, up = times(w("ffn_gate"), y), times(w("ffn_up"), y)
            y = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
            x = [a + b for a, b in zip(x, times(w("ffn_down"), y))]
        return x

    def laws(self, context, wanted):
        """Yields the law of each token of wanted, given those before it."""
        cache = [([], []) for _ in range(self.blocks)]
        for position, token in enumerate(context + wanted[:-1]):
            x = self.step(token, position, cache)
            if position >= len(context) - 1:
                yield softmax(times(self.weights["output.weight"], self.norm(x, "output_norm.weight")))

    def success(self, context, answer, look=True):
        """Returns the probability of the answer and its end, and the bound of
        what other tokens of the same trimmed text add; look says whether to
        look beyond a space."""
        wanted = [self.ids[c] for c in answer] + [self.eos]
        silent, space = {self.unk, self.bos}, self.ids[" "]
        p, more = 1.0, 0.0
        for i, law in enumerate(self.laws(context, wanted)):
            also = set(silent)
            if i < len(answer):
                also.add(self.bytes[ord(answer[i])])
            if i in (0, len(answer)):
                also.update(self.bytes)
                more += p * law[space] * (self.beyond(context + wanted[:i], answer[i:]) if look else 1)
            more += p * math.fsum(law[t] for t in also)
            p *= law[wanted[i]]
        return p, more

    def beyond(self, context, rest):
        """Bounds the probability that a space is followed by the rest."""
        return min(1, sum(self.success(context + [self.ids[" "]], rest, look=False)))


def figures(model, prompt):
    length = len(prompt["answer"])
    if length == MAX_TOKENS:
        sys.exit(f"{prompt['id']}: the answer has exactly {MAX_TOKENS} characters")
    context = [model.bos] + [model.ids[c] for c in prompt["prompt"]]
    rate, more = model.success(context, prompt["answer"]) if length < MAX_TOKENS else (0.0, 0.0)
    return {"rate": float(f"{rate:.9g}"), "more": float(f"{more:.2g}")}


if __name__ == "__main__":
    model = Model("model.gguf")
    prompts = [json.loads(line) for line in open("prompts.jsonl")]
    rows = ",\n".join(f'  {json.dumps(p["id"])}: {json.dumps(figures(model, p))}' for p in prompts)
    print(f'{{\n "made_by": "rates.py, plain Python",\n "max_tokens": {MAX_TOKENS},\n "rates": {{\n{rows}\n }}\n}}')

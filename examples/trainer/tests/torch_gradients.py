"""The gradients of the trainer's model against torch's.

    python3 torch_gradients.py DUMP

DUMP is what test_model writes: the shape, the text, and each tensor's name,
weights and gradient. The model is written anew here, in double, from the
description in model.h; every tensor must agree within 1e-5 of its length.
"""
import math
import struct
import sys

import torch
import torch.nn.functional as functional


def read(path):
    """The shape, the bytes, and {name: (weights, gradient)}."""
    with open(path, "rb") as file:
        shape = struct.unpack("=5Q", file.read(40))
        count, loss = struct.unpack("=Qd", file.read(16))
        text = file.read(shape[4] + 1)
        tensors = {}
        for _ in range(count):
            name = file.read(48).split(b"\0")[0].decode()
            size, = struct.unpack("=Q", file.read(8))
            weights, gradient = (
                torch.tensor(struct.unpack("=%df" % size, file.read(4 * size)),
                             dtype=torch.double) for _ in range(2))
            tensors[name] = weights.requires_grad_(), gradient
    return shape, text, loss, tensors


def model(shape, text, weight):
    """The mean loss of a sequence."""
    layers, heads, width, mlp, context = shape
    tokens = torch.tensor(list(text))

    def norm(x, name):
        return functional.layer_norm(x, (width,), weight[name + ".weight"],
                                     weight[name + ".bias"], 1e-5)

    def linear(x, name, inputs):
        matrix = weight[name + ".weight"].view(-1, inputs)
        return x @ matrix.T + weight.get(name + ".bias", 0)

    x = (weight["wte.weight"].view(256, width)[tokens[:-1]] +
         weight["wpe.weight"].view(context, width))
    mask = torch.ones(context, context).tril() == 0
    for block in ("block%d." % i for i in range(layers)):
        qkv = linear(norm(x, block + "ln1"), block + "attn.qkv", width)
        q, k, v = (part.view(context, heads, -1).transpose(0, 1)
                   for part in qkv.split(width, 1))
        scores = q @ k.transpose(1, 2) / math.sqrt(width / heads)
        shares = scores.masked_fill(mask, -math.inf).softmax(2)
        joined = (shares @ v).transpose(0, 1).reshape(context, width)
        x = x + linear(joined, block + "attn.proj", width)
        h = linear(norm(x, block + "ln2"), block + "mlp.fc", width)
        h = h * (1 + torch.tanh(math.sqrt(2 / math.pi) *
                                (h + 0.044715 * h ** 3))) / 2
        x = x + linear(h, block + "mlp.proj", mlp)
    logits = linear(norm(x, "ln_f"), "head", width)
    return functional.cross_entropy(logits, tokens[1:])


def main():
    shape, text, loss, tensors = read(sys.argv[1])
    mean = model(shape, text, {n: w for n, (w, _) in tensors.items()})
    mean.backward()
    wrong = [abs(mean.item() - loss) / loss]
    for name, (weights, gradient) in tensors.items():
        wrong.append(((weights.grad - gradient).norm() /
                      weights.grad.norm()).item())
        if not wrong[-1] <= 1e-5:
            print("FAIL %s: %g" % (name, wrong[-1]))
    print("note: %d tensors, at most %.1e apart" % (len(tensors), max(wrong)))
    return 0 if max(wrong) <= 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())

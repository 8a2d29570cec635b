#!/usr/bin/env python3
"""One rank of the training benchmark on PyTorch's side: the workloads of ddp_bench.cpp, layer for layer.

Reads lines "MODE STEPS" and answers each with one line of the steps' milliseconds. MODE is plain (no communication),
ddp (DistributedDataParallel as one gets it) or ddp_view (gradient_as_bucket_view and static_graph). Needs python3-torch.
"""
import math
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

WIDTH, CONTEXT, HEADS, WORDS = 256, 128, 4, 1024


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1024, 2304), nn.ReLU(), nn.Linear(2304, 2304), nn.ReLU(),
                                    nn.Linear(2304, 1024))

    def forward(self, x, target):
        return F.mse_loss(self.layers(x), target)

    @staticmethod
    def batch():
        return torch.randn(64, 1024), torch.randn(64, 1024)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x, target):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = F.dropout(F.max_pool2d(x, 2), 0.25, self.training).flatten(1)
        x = self.fc2(F.dropout(F.relu(self.fc1(x)), 0.5, self.training))
        return F.nll_loss(F.log_softmax(x, 1), target)

    @staticmethod
    def batch():
        return torch.randn(64, 1, 28, 28), torch.randint(10, (64,))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, mask):
        batch, length, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = heads[0] @ heads[1].transpose(-2, -1) / math.sqrt(WIDTH // HEADS) + mask
        mixed = torch.softmax(scores, -1) @ heads[2]
        y = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return y + self.down(F.gelu(self.up(self.norm2(y))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.mask = torch.full((CONTEXT, CONTEXT), -math.inf).triu(1)

    def forward(self, x, target):
        x = self.words(x) + self.positions(torch.arange(CONTEXT))
        for block in self.blocks:
            x = block(x, self.mask)
        return F.cross_entropy(self.head(self.norm(x)).view(-1, WORDS), target.view(-1))

    @staticmethod
    def batch():
        return torch.randint(WORDS, (8, CONTEXT)), torch.randint(WORDS, (8, CONTEXT))


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    make = {"mlp": Mlp, "cnn": Cnn, "gpt": Gpt}[sys.argv[1]]
    parallel = nn.parallel.DistributedDataParallel
    models = {"plain": make(), "ddp": parallel(make()),
              "ddp_view": parallel(make(), gradient_as_bucket_view=True, static_graph=True)}
    optimizers = {mode: torch.optim.SGD(model.parameters(), 0.01) for mode, model in models.items()}
    inputs, target = make.batch()
    for line in iter(sys.stdin.readline, ""):
        mode, steps = line.split()
        model, optimizer, times = models[mode], optimizers[mode], []
        for _ in range(int(steps)):
            begin = time.perf_counter()
            optimizer.zero_grad()
            model(inputs, target).backward()
            optimizer.step()
            times.append(1e3 * (time.perf_counter() - begin))
        print(*("%.4f" % t for t in times), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main()

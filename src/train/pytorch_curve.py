#!/usr/bin/env python3
"""PyTorch's side of ddp_pytorch_test: trains the model of ddp_fixture.h with DistributedDataParallel on gloo.

  pytorch_curve.py FILE STEPS      FILE holds float32: the parameters in order, then every step's inputs and targets

Prints this rank's loss of every step as a line of its own: libraries print too. Rank and world come from the environment.
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn

WIDTH, BATCH = 16, 24


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.middle = nn.Linear(6, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.extra, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x):
        hidden = torch.tanh(self.middle(torch.tanh(self.first(x))))
        return self.last(torch.tanh(self.extra(hidden)))


def main():
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("USE_LIBUV", "0")  # Debian's PyTorch has none, and asks for it
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    values = torch.frombuffer(bytearray(open(sys.argv[1], "rb").read()), dtype=torch.float32)
    at = 0

    def take(*shape):
        nonlocal at
        count = torch.Size(shape).numel()
        at += count
        return values[at - count:at].view(shape)

    model = Net()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(take(*parameter.shape))
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05, momentum=0.9)
    share = BATCH // world
    for _ in range(int(sys.argv[2])):
        inputs = take(BATCH, 6)[rank * share:(rank + 1) * share]
        target = take(BATCH, 3)[rank * share:(rank + 1) * share]
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(parallel(inputs), target)
        loss.backward()
        optimizer.step()
        print("\nloss %.9g" % loss.item(), flush=True)


if __name__ == "__main__":
    main()

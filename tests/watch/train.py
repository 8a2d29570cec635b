"""A small training script that does one thing wrong, or nothing: what `gradwire watch` is tested on.

    torchrun --nproc-per-node 2 train.py FAULT [--steps N]
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

FAULTS = ["none", "slow-rank", "slow-input", "accumulation", "tiny-buckets", "unused", "buffers", "busy-core",
          "throttled-link"]


class Batches(Dataset):
    """Whole batches, made beforehand: input costs nothing but what `delay` makes it cost."""

    def __init__(self, batch, width, delay):
        self.inputs, self.targets = torch.randn(8, batch, width), torch.randint(10, (8, batch))
        self.delay = delay

    def __len__(self):
        return 10**6

    def __getitem__(self, index):
        if self.delay:
            time.sleep(self.delay)
        return self.inputs[index % 8], self.targets[index % 8]


def make_model(fault, width):
    """Wide layers: much computing for their gradients; many small ones for faults that count pieces."""
    if fault == "unused":
        layers = [part for _ in range(150) for part in (nn.Linear(32, 32), nn.Tanh())]
        return nn.Sequential(nn.Linear(width, 32), *layers, nn.Linear(32, 10))
    if fault == "buffers":
        layers = [part for _ in range(24) for part in (nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU())]
        return nn.Sequential(nn.Linear(width, 128), *layers, nn.Linear(128, 10))
    if fault == "tiny-buckets":
        layers = [part for _ in range(32) for part in (nn.Linear(128, 128), nn.ReLU())]
        return nn.Sequential(nn.Linear(width, 128), *layers, nn.Linear(128, 10))
    return nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


def wrap(model, fault, mended):
    if mended:
        return DistributedDataParallel(model, broadcast_buffers=False)
    if fault == "tiny-buckets":
        return DistributedDataParallel(model, bucket_cap_mb=0.01, broadcast_buffers=False)
    if fault == "unused":
        return DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=False)
    return DistributedDataParallel(model, broadcast_buffers=fault == "buffers")


class Loop:
    """A model that is trained step by step, with its fault or, mended, without it."""

    def __init__(self, fault, mended, rank):
        self.mended, self.pieces = mended, 4 if fault == "accumulation" else 1
        width = 128
        batch = {"accumulation": 32, "unused": 64, "buffers": 64, "tiny-buckets": 64}.get(fault, 4096)
        self.late = 0.06 if fault == "slow-rank" and rank == 1 and not mended else 0
        delay = 0.05 if fault == "slow-input" and not mended else 0
        self.batches = iter(DataLoader(Batches(batch, width, delay), batch_size=None))
        torch.manual_seed(1)
        self.model = wrap(make_model(fault, width), fault, mended)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.times = []

    def step(self):
        began = time.perf_counter()
        for piece in range(self.pieces):
            inputs, targets = next(self.batches)
            time.sleep(self.late)
            self.model.require_backward_grad_sync = piece == self.pieces - 1 or not self.mended
            self.loss = nn.functional.cross_entropy(self.model(inputs), targets)
            self.loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.times.append(time.perf_counter() - began)


def median(times):
    return sorted(times[5:])[len(times[5:]) // 2] * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=FAULTS)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--mended", action="store_true", help="the same without the fault")
    parser.add_argument("--beside-mended", action="store_true", help="a step with the fault, a step without it, and so on")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    loop = Loop(options.fault, options.mended, rank)
    mended = Loop(options.fault, True, rank) if options.beside_mended else None
    for step in range(options.steps):
        loop.step()
        if mended:
            mended.step()
    if rank == 0 and mended:
        print("costs %.3f ms" % median([a - b for a, b in zip(loop.times, mended.times)]), flush=True)
    elif rank == 0:
        print("loss %.4f, step %.3f ms" % (loop.loss.item(), median(loop.times)), flush=True)


main()

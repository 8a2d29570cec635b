"""What can be seen of a job from outside: who listens where, what it left behind, what its checkpoints hold."""

import json
import os
import pathlib
import time

LISTEN, ESTABLISHED = "0A", "01"


def sockets_of(pid):
    found = set()
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            link = os.readlink(f"/proc/{pid}/fd/{name}")
            if link.startswith("socket:["):
                found.add(link[8:-1])
    except OSError:
        pass
    return found


def tcp_sockets(pid, state):
    """(address as the kernel writes it, port) of the process's own end of its TCP sockets in that state."""
    sockets, found = sockets_of(pid), []
    for table in ("tcp", "tcp6"):
        try:
            rows = pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, rows):
            if fields[3] == state and fields[9] in sockets:
                address, port = fields[1].split(":")
                found.append((address, int(port, 16)))
    return found


def listening(pid):
    return tcp_sockets(pid, LISTEN)


def is_connected(pid):
    return bool(tcp_sockets(pid, ESTABLISHED))


def is_loopback(address):  # little-endian words: 127.x.y.z ends in 7F; ::1; ::ffff:127.x.y.z
    if len(address) == 8:
        return address.endswith("7F")
    return address == "00000000000000000000000001000000" or (
        address.startswith("0000000000000000FFFF0000") and address.endswith("7F"))


def tensors_in(path):
    """Notes and {name: (type, bytes)} of a checkpoint with all its parts."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    notes = header.pop("__metadata__", {})
    body = content[8 + length:]
    tensors = {name: (entry["dtype"], body[slice(*entry["data_offsets"])]) for name, entry in header.items()}
    for line in filter(None, notes.get("gradwire.shards", "").split("\n")):
        tensors.update(tensors_in(path.parent / line.split(" ")[0])[1])
    return notes, tensors


def step_of(path):
    return int(tensors_in(path)[0]["gradwire.step"])


def same_tensors(one, other):
    return tensors_in(one)[1] == tensors_in(other)[1]


def shared_memory():
    return {entry.name for entry in os.scandir("/dev/shm")}


def in_use(name):
    """Whether any process maps, holds or was told of it: others work on this machine too."""
    path = f"/dev/shm/{name}"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if path in pathlib.Path(f"/proc/{pid}/maps").read_text():
                return True
            if path.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                return True
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") == path for fd in os.listdir(f"/proc/{pid}/fd")):
                return True
        except OSError:
            continue
    return False


def left_in_memory(before):
    new = shared_memory() - before
    if new:
        time.sleep(1)  # others' may be on their way
    return sorted(name for name in new & shared_memory() if not in_use(name))


def is_draft(name):
    return ".writing-" in name


def drafts_in(folder):
    return [name for name in os.listdir(folder) if is_draft(name)]


def strays_in(folder, checkpoint="run.ckpt"):
    """What does not belong to the checkpoint, if there is one, among the files that carry its name."""
    mine = {checkpoint}
    if (folder / checkpoint).exists():
        shards = tensors_in(folder / checkpoint)[0].get("gradwire.shards", "")
        mine |= {line.split(" ")[0] for line in shards.split("\n")}
    return [name for name in os.listdir(folder) if name.startswith(checkpoint) and name not in mine]

"""A run of `gradwire train` that is watched from outside: its launchers, its ranks, what each said and when.

A Job marks its processes by a variable of their environment, so that they are found whatever became of their parents.
Times are of time.monotonic()."""

import os
import re
import signal
import subprocess
import threading
import time

MARK = "GRADWIRE_CHAOS"
TIMEOUT, GRACE = 4.0, 2.0  # what every job is given: how long its ranks wait, and how long they have to end
STEPS, EVERY = 10, 3


class Setup:
    """What is run: a value. `nodes` have `ranks` each; with `elastic` one node is enough."""

    def __init__(self, backend, ranks, nodes=1, sharded=False, restarts=0, model="convnet"):
        self.backend, self.ranks, self.nodes, self.sharded = backend, ranks, nodes, sharded
        self.restarts, self.model, self.elastic = restarts, model, False

    @property
    def size(self):
        return self.ranks * self.nodes

    def reference(self):  # runs that must end with the same numbers
        return (self.backend, self.size, self.nodes, self.model)

    def __str__(self):
        hosts = f" on {self.nodes} hosts" if self.nodes > 1 else ""
        more = ", sharded" * self.sharded + ", elastic" * self.elastic + f", {self.restarts} restarts" * (self.restarts > 0)
        return f"{self.backend}, {self.size} ranks{hosts}{more}"


def command_of(program, setup, place, node=0, resume=None, checkpoint="run.ckpt"):
    words = [program, "train", setup.model, "-n", setup.ranks, "--backend", setup.backend, "--data", "generated"]
    words += ["--batch", 4, "--steps", STEPS, "--timeout", f"{TIMEOUT}s", "--grace", f"{GRACE}s"]
    words += ["--checkpoint", place / checkpoint, "--checkpoint-every", EVERY, "--max-restarts", setup.restarts]
    words += ["--sharded"] * setup.sharded + (["--resume", resume] if resume else [])
    if setup.nodes > 1:
        words += ["--nnodes", "1:" * setup.elastic + str(setup.nodes), "--node-rank", node, "--master", "10.77.0.1:29500"]
    if setup.nodes > 1 and "gloo" in setup.backend:
        words += ["--trust-network"]
    return [str(word) for word in words]


class Line:
    def __init__(self, when, node, text):
        self.when, self.node, self.text = when, node, text


class Process:
    def __init__(self, pid, variables, program):
        self.pid, self.variables, self.program = pid, variables, program

    @property
    def rank(self):
        if self.program != "gradwire-train":
            return None
        return next((int(self.variables[name]) for name in ("RANK", "OMPI_COMM_WORLD_RANK") if name in self.variables), None)


def read_process(pid):
    """None where it is gone, or has ended and waits to be reaped."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read().split(b"\0")
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return None
    if stat[stat.rfind(b")") + 2:][:1] in b"ZX":
        return None
    variables = dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)
    return Process(pid, variables, program)


def marked(mark):
    found = (read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process and process.variables.get(MARK) == mark]


class Job:
    """One launcher a node, started at once. `within` puts a command onto a node's host."""

    def __init__(self, commands, place, within=None, limit=None):
        self.mark = os.urandom(8).hex()
        self.lines, self.began = [], time.monotonic()
        (place / "tmp").mkdir(exist_ok=True)
        variables = dict(os.environ, TMPDIR=str(place / "tmp"), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                         GRADWIRE_SECRET="0123456789abcdef0123456789abcdef", **{MARK: self.mark})
        self.launchers, self.readers = [], []
        for node, command in enumerate(commands):
            command = within(node) + command if within else command
            launcher = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, preexec_fn=limit)
            self.launchers.append(launcher)
            self.readers.append(threading.Thread(target=self._read, args=(node, launcher.stdout), daemon=True))
            self.readers[-1].start()

    def _read(self, node, pipe):
        for line in iter(pipe.readline, b""):
            self.lines.append(Line(time.monotonic(), node, line.decode(errors="replace").rstrip("\n")))

    def processes(self):
        return marked(self.mark)

    def ranks(self):
        return {process.rank: process for process in self.processes() if process.rank is not None}

    def launcher_pid(self, node):  # behind nsenter, which becomes it, it has the same number
        return self.launchers[node].pid

    def wait_until(self, condition, deadline):
        """What the condition gives when it holds; None when the job ends or time is up before."""
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            if all(launcher.poll() is not None for launcher in self.launchers):
                return None
            time.sleep(0.001)
        return None

    def said(self, pattern):
        return next((line for line in list(self.lines) if re.search(pattern, line.text)), None)

    def wait_end(self, deadline):
        """Whether all launchers have ended by then."""
        for launcher in self.launchers:
            try:
                launcher.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False
        self.ended = time.monotonic()
        for reader in self.readers:  # what a process that was left behind holds open is not waited for
            reader.join(1)
        return True

    def codes(self):
        return [launcher.poll() for launcher in self.launchers]

    def text(self):
        return "\n".join(line.text for line in list(self.lines))

    def destroy(self):
        """After a trial: whatever is left must not disturb the next."""
        for _ in range(50):
            left = self.processes()
            for process in left:
                try:
                    os.kill(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                break
            time.sleep(0.02)
        for launcher in self.launchers:
            launcher.kill()
            launcher.wait()

"""One trial: a job, a moment, a fault, and what was promised for it. Each promise that is not kept becomes a line in
`broken`; `happened` says in a few words what the job did."""

import os
import pathlib
import re
import shutil
import tempfile
import time

from . import job as jobs
from . import looks
from .job import GRACE, STEPS, TIMEOUT, Job, Setup, command_of

SLACK = 2.0  # beyond any deadline
LIMIT = 60.0  # no trial takes longer
LATE = 10.0  # how long one that is late is watched, to tell late from never
SPARE = 6.0

PHASES = ("start-up", "first collective", "mid-run", "save", "shutdown")


def ranks_in(text):
    """{1, 2, 3} of "rank 1 waited for ranks 2, 3"."""
    lists = re.findall(r"\branks? (\d+(?:(?:, (?:rank )?| and (?:rank )?)\d+)*)", text)
    return {int(number) for one in lists for number in re.findall(r"\d+", one)}


def without_speaker(text):
    """What is said, without who says it: "gradwire train: rank 0: "."""
    return re.sub(r"^gradwire(?: train)?: (?:rank \d+: )?", "", text)


class References:
    """Undisturbed runs, one for each setup, made when first asked for."""

    def __init__(self, program, hosts, folder):
        self.program, self.hosts, self.folder, self.made = program, hosts, folder, {}

    def get(self, setup):
        key = setup.reference()
        if key not in self.made:
            place = self.folder / f"reference-{len(self.made)}"
            place.mkdir()
            plain = Setup(setup.backend, setup.ranks, setup.nodes, model=setup.model)
            job = start(self.program, plain, place, self.hosts)
            begun = job.wait_until(lambda: job.said(r"ranks? x"), job.began + LIMIT)
            if not job.wait_end(job.began + LIMIT) or any(job.codes()):
                text = job.text()
                job.destroy()
                raise RuntimeError(f"the undisturbed run ({setup}) failed: {job.codes()}\n{text}")
            self.made[key] = (place / "run.ckpt", begun.when - job.began, job.ended - job.began)
        return self.made[key]


def start(program, setup, place, hosts, limit=None, **more):
    commands = [command_of(program, setup, place, node, **more) for node in range(setup.nodes)]
    return Job(commands, place, hosts.within if setup.nodes > 1 else None, limit)


class Trial:
    def __init__(self, number, random, setup, references):
        self.number, self.random, self.setup, self.references = number, random, setup, references
        self.place = pathlib.Path(tempfile.mkdtemp(prefix=f"chaos-{number}-", dir=references.folder))
        self.hosts = references.hosts
        self.what = "nothing was done"
        self.memory = looks.shared_memory()
        self.broken, self.happened, self.named_after = [], [], None
        self.output = ""
        self.job = None

    def measure_undisturbed(self):
        self.reference, self.start_up, self.whole = self.references.get(self.setup)

    def start(self, limit=None, **more):
        self.job = start(self.references.program, self.setup, self.place, self.hosts, limit, **more)
        return self.job

    @property
    def spare(self):
        """For what is left of the training itself, which takes longer on a busy machine."""
        return SPARE * max(1.0, os.getloadavg()[0] / os.cpu_count())

    def promise(self, kept, text):
        if not kept:
            self.broken.append(text)
        return kept

    # The moment.

    def reach(self, phase, rank=0):
        """Waits for the phase and a while within it; False when the job was over before."""
        job, deadline = self.job, self.job.began + LIMIT
        if phase == "start-up":
            found = job.wait_until(lambda: rank in job.ranks(), deadline)
            self._sleep(self.start_up)
        elif phase == "first collective":
            found = job.wait_until(lambda: job.said(r"ranks? x"), deadline)
            self._sleep(0.03)
        elif phase == "mid-run":
            step = self.random.randint(1, STEPS - 2)
            found = job.wait_until(lambda: job.said(rf"^step {step} of"), deadline)
            self._sleep(0.05)
        elif phase == "save":
            step = self.random.choice([3, 6, 9, 10])
            job.wait_until(lambda: job.said(rf"^step {step - 1} of"), deadline)
            found = job.wait_until(lambda: looks.drafts_in(self.place), time.monotonic() + 5)
            self._sleep(0.02)
        else:
            found = job.wait_until(lambda: job.said(rf"^step {STEPS} of"), deadline)
            self._sleep(0.3)
        return bool(found)

    def _sleep(self, most):
        time.sleep(self.random.uniform(0, most))

    def check_listening(self):
        if self.setup.nodes > 1:
            return
        for process in self.job.processes():
            beyond = [place for place in looks.listening(process.pid) if not looks.is_loopback(place[0])]
            self.promise(not beyond, f"{process.program} listens beyond loopback: {beyond}")

    # The end.

    def end_by(self, deadline, why):
        """All launchers and all their processes are gone by then."""
        limit = min(deadline + SLACK, self.job.began + LIMIT)
        ended = self.job.wait_end(limit)
        if not ended:
            waiting = ", ".join(sorted(f"{one.program} {one.rank if one.rank is not None else ''}".strip()
                                       for one in self.job.processes()))
            late = f"for {self.job.ended - limit:.1f} s" if self.job.wait_end(limit + LATE) else f"for more than {LATE:g} s"
            self.promise(False, f"waits beyond {why} + {SLACK:g} s, {late}, load {os.getloadavg()[0]:.0f}: {waiting}")
        self.happened.append(f"exit {'/'.join(map(str, self.job.codes()))}")
        return ended

    def check_nothing_left(self):
        deadline = time.monotonic() + SLACK
        left = self.job.processes()
        while left and time.monotonic() < deadline:
            time.sleep(0.02)
            left = self.job.processes()
        self.promise(not left, f"left running: {[one.program for one in left]}")
        memory = looks.left_in_memory(self.memory)
        self.promise(not memory, f"left in shared memory: {memory}")
        files = sorted(str(path.relative_to(self.place)) for path in (self.place / "tmp").rglob("*"))
        self.promise(not files, f"left in the folder for temporary files: {files[:4]}")

    def check_equal(self):
        """To the bit, resumed or not (docs/train.md)."""
        path = self.place / "run.ckpt"
        if not self.promise(path.exists(), "the run ended well without its checkpoint"):
            return
        self.promise(looks.same_tensors(path, self.reference), "its checkpoint differs from the undisturbed run's")

    def complaints(self):
        """{rank: line} of what ranks said before they gave up."""
        found = {}
        for line in list(self.job.lines):
            match = re.match(r"gradwire(?: train)?: rank (\d+): ", line.text)
            if match:
                found.setdefault(int(match[1]), line)
        return found

    def check_named(self, culprit, since, within, survivors):
        """Nobody blames another rank, and all of `survivors` name the culprit in time. The first to lose patience may name one
        that waits itself, which then says for whom."""
        said = self.complaints()
        blamed = {rank: ranks_in(without_speaker(line.text)) - {rank} for rank, line in said.items()}
        for rank in said.keys() - {culprit}:
            chain = culprit in blamed[rank] or any(culprit in blamed.get(other, ()) for other in blamed[rank])
            self.promise(chain, f"rank {rank} blames another than rank {culprit}: {said[rank].text}")
        for rank in survivors:
            if not self.promise(rank in said, f"rank {rank} did not say whom it missed (rank {culprit})"):
                continue
            after = said[rank].when - since
            self.named_after = max(self.named_after or 0, after)
            self.promise(after <= within, f"rank {rank} named rank {culprit} only after {after:.2f} s")

    def check_told(self, culprit, since, within):
        """Whoever says it, a survivor or the launcher, says it in time."""
        told = next((line for line in list(self.job.lines) if line.when >= since and culprit in ranks_in(without_speaker(line.text))), None)
        if self.promise(told is not None, f"nobody named rank {culprit}"):
            self.promise(told.when - since <= within, f"rank {culprit} was named only after {told.when - since:.2f} s")

    def resume(self):
        """What is resumed equals the undisturbed run, and nothing of the disturbed one is left beside it."""
        path = self.place / "run.ckpt"
        if not path.exists():
            self.happened.append("nothing was saved yet")
            return
        step = looks.step_of(path)
        if step == STEPS:
            return self.promise(looks.same_tensors(path, self.reference), "its last checkpoint differs")
        self.output += self.job.text() + "\n--- resumed:\n"
        self.job.destroy()
        again = self.job = start(self.references.program, self.setup, self.place, self.hosts, resume=path)
        if not self.promise(again.wait_end(again.began + LIMIT / 2) and not any(again.codes()),
                            f"resuming from step {step} failed: {again.codes()} {again.text()[-300:]}"):
            return
        self.happened.append(f"resumed from step {step}")
        self.check_equal()
        strays = looks.strays_in(self.place)
        self.promise(not strays, f"left beside the checkpoint: {strays}")

    def close(self, keep):
        if self.job:
            (self.place / "output.txt").write_text(self.output + self.job.text() + "\n")
            self.job.destroy()
        if not keep:
            shutil.rmtree(self.place, ignore_errors=True)


__all__ = ["GRACE", "PHASES", "References", "SLACK", "STEPS", "TIMEOUT", "Trial", "jobs", "start"]

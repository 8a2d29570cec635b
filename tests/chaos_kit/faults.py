"""The kinds of trial. Each is a function of a Trial that says what it does to the job, does it, and holds the job to what
was promised. `KINDS` names them with how often each is dealt."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time

from . import looks
from .trial import GRACE, PHASES, SLACK, STEPS, TIMEOUT

NAMED_WITHIN = 1.0  # of SIGKILL
LAST_CALL = 3.0  # that a generation waits for more nodes than it needs


def send(trial, pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        trial.happened.append("too late")
    return time.monotonic()


def pick_rank(trial):
    return trial.random.randrange(trial.setup.size)


def hit_rank(trial, number):
    """Reaches a phase and signals a rank: (rank, phase, when), or None when the job was over before."""
    rank, phase = pick_rank(trial), trial.random.choice(PHASES)
    trial.what = f"{signal.Signals(number).name} to rank {rank}, {phase}"
    trial.start()
    reached = trial.reach(phase, rank)
    process = trial.job.ranks().get(rank) if reached else None
    if process is None:
        trial.happened.append("too late")
        trial.end_by(time.monotonic() + trial.spare, "its end")
        return check_undisturbed(trial)
    trial.check_listening()
    trial.joined = {one for one, other in trial.job.ranks().items() if looks.is_connected(other.pid)}
    return rank, phase, send(trial, process.pid, number)


def check_undisturbed(trial):
    trial.promise(not any(trial.job.codes()), f"an undisturbed job failed: {trial.job.text()[-300:]}")
    if not any(trial.job.codes()):
        trial.check_equal()
    trial.check_nothing_left()


def is_done(trial):
    """Ended well: then all of its work must be there."""
    if any(trial.job.codes()):
        return False
    trial.check_equal()
    return True


def survivors_that_speak(trial, rank, phase):
    """All, where the job was not done. One that has not joined waits for nobody; under mpirun all are connected, if only to that."""
    others = set(range(trial.setup.size)) - {rank}
    if phase == "start-up":
        others &= set() if "mpi" in trial.setup.backend else trial.joined
    return sorted(others)


def kill_rank(trial):
    trial.setup.restarts = trial.random.choice([0, 0, 1])
    hit = hit_rank(trial, signal.SIGKILL)
    if not hit:
        return
    rank, phase, when = hit
    if trial.setup.restarts:
        trial.end_by(when + GRACE + trial.spare + trial.whole, "a restart")
        trial.promise(not any(trial.job.codes()), f"not restarted: {trial.job.text()[-300:]}")
        is_done(trial)
        return trial.check_nothing_left()
    trial.end_by(when + GRACE, "the grace")
    trial.check_nothing_left()
    if is_done(trial):
        return
    trial.promise(all(trial.job.codes()), "one node ended well, another did not")
    ends = r"was killed by SIGKILL|is gone|is lost|(, rank \d+)* had not joined"  # the last where mpirun starts the ranks
    trial.promise(trial.job.said(rf"rank {rank}\b ?({ends})"), f"the launcher did not name rank {rank}")
    trial.check_told(rank, when, NAMED_WITHIN)
    trial.check_named(rank, when, NAMED_WITHIN, survivors_that_speak(trial, rank, phase))
    trial.resume()


def stop_rank(trial):
    hit = hit_rank(trial, signal.SIGSTOP)
    if not hit:
        return
    rank, phase, when = hit
    begins = trial.start_up if phase == "start-up" else 0  # who has not joined does not wait yet
    trial.end_by(when + begins + TIMEOUT + GRACE, "deadline and grace")
    trial.check_nothing_left()
    if is_done(trial):
        return
    trial.check_told(rank, when, TIMEOUT + SLACK + begins)
    # Under mpirun the others are ended when the first has lost patience.
    survivors = [] if "mpi" in trial.setup.backend else survivors_that_speak(trial, rank, phase)
    trial.check_named(rank, when, TIMEOUT + SLACK + begins, survivors)
    trial.resume()


def pause_rank(trial):
    hit = hit_rank(trial, signal.SIGSTOP)
    if hit:
        time.sleep(trial.random.uniform(0.1, TIMEOUT / 3))
        rank = hit[0]
        process = trial.job.ranks().get(rank)
        if process:
            send(trial, process.pid, signal.SIGCONT)
        trial.end_by(time.monotonic() + trial.whole + trial.spare, "its end")
        check_undisturbed(trial)


def term_rank(trial):
    hit = hit_rank(trial, signal.SIGTERM)
    if hit:
        trial.end_by(hit[2] + GRACE + trial.spare, "a step and the grace")
        ends_interrupted(trial)


def ends_interrupted(trial):
    trial.check_nothing_left()
    if is_done(trial):
        return
    codes = trial.job.codes()
    trial.promise(all(code == 128 + signal.SIGTERM for code in codes), f"exit {codes} after SIGTERM, not 143")
    trial.resume()


def hit_launcher(trial, number):
    node, phase = trial.random.randrange(trial.setup.nodes), trial.random.choice(PHASES)
    trial.what = f"{signal.Signals(number).name} to the launcher" + f" of node {node}" * (trial.setup.nodes > 1) + f", {phase}"
    trial.start()
    if not trial.reach(phase) or trial.job.launchers[node].poll() is not None:
        trial.happened.append("too late")
        trial.end_by(time.monotonic() + trial.spare, "its end")
        return check_undisturbed(trial)
    return node, send(trial, trial.job.launcher_pid(node), number)


def check_others(trial, node):
    """The launchers of the other nodes say which one is missing."""
    for other in range(trial.setup.nodes):
        if other == node or trial.job.codes()[other] == 0:
            continue
        said = [line.text for line in trial.job.lines if line.node == other]
        named = any(f"node {node}" in text or "launcher" in text or "store" in text for text in said)
        trial.promise(named, f"the launcher of node {other} did not say that node {node} is missing: {said[-2:]}")


def kill_launcher(trial):
    hit = hit_launcher(trial, signal.SIGKILL)
    if not hit:
        return
    node, when = hit
    trial.end_by(when + (GRACE + 1 if trial.setup.nodes > 1 else 0), "the grace" if trial.setup.nodes > 1 else "SIGKILL")
    trial.check_nothing_left()
    check_others(trial, node)
    trial.resume()


def stop_launcher(trial):
    """Its ranks may finish their work, but nobody waits for it longer than the deadline."""
    hit = hit_launcher(trial, signal.SIGSTOP)
    if not hit:
        return
    node, when = hit
    deadline = when + trial.whole + trial.spare + TIMEOUT + GRACE
    others = [one for one in range(trial.setup.nodes) if one != node]
    while time.monotonic() < deadline + SLACK and (trial.job.ranks() or any(trial.job.codes()[one] is None for one in others)):
        time.sleep(0.02)
    waiting = sorted(trial.job.ranks())
    trial.promise(not waiting, f"ranks {waiting} wait for a stopped launcher beyond the deadline")
    check_others(trial, node)
    continued = send(trial, trial.job.launcher_pid(node), signal.SIGCONT)
    trial.end_by(continued + GRACE + TIMEOUT, "deadline and grace")
    trial.check_nothing_left()
    if not is_done(trial):
        trial.resume()


def pause_launcher(trial):
    hit = hit_launcher(trial, signal.SIGSTOP)
    if hit:
        time.sleep(trial.random.uniform(0.1, TIMEOUT / 3))
        send(trial, trial.job.launcher_pid(hit[0]), signal.SIGCONT)
        trial.end_by(time.monotonic() + trial.whole + trial.spare, "its end")
        check_undisturbed(trial)


def term_launcher(trial):
    hit = hit_launcher(trial, signal.SIGTERM)
    if hit:
        trial.end_by(hit[1] + GRACE, "the grace")
        ends_interrupted(trial)


def full_disk(trial):
    """The checkpoint's disk has room for less than two, or one, or files may not be that long."""
    size = sum(len(content) for _, content in looks.tensors_in(trial.reference)[1].values())
    room = int(size * trial.random.uniform(0.2, 1.9))
    by_limit = os.geteuid() != 0 or trial.random.random() < 0.3
    if by_limit:
        trial.setup.sharded = False  # its parts are smaller
        if trial.setup.backend not in ("tcp", "gloo"):  # the others' shared memory is made of files, limited as well
            trial.setup.backend = "tcp"
            trial.measure_undisturbed()
    trial.what = f"a {'limit of files' if by_limit else 'disk'} of {room / size:.1f} checkpoints"
    limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))) if by_limit else None
    disk = trial.place / "disk"
    disk.mkdir()
    try:
        if not by_limit:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "chaos", disk], check=True)
        trial.start(limit, checkpoint="disk/run.ckpt")
        trial.end_by(trial.job.began + trial.whole + trial.spare, "its end")
        check_full_disk(trial, disk, by_limit and room > size * 1.01)
    finally:
        if not by_limit:
            subprocess.run(["umount", disk], check=False)


def check_full_disk(trial, disk, fits):
    if fits:
        trial.promise(not any(trial.job.codes()), "it failed though there was room")
        return trial.check_nothing_left()
    trial.promise(all(code == 1 for code in trial.job.codes()), f"exit {trial.job.codes()} on a full disk, not 1")
    said = [line.text for line in trial.job.lines if line.text.startswith("gradwire train: ")]
    trial.promise(any("run.ckpt" in text for text in said), f"nobody named the file: {said[-2:]}")
    strays = looks.strays_in(disk)
    trial.promise(not strays, f"left on the full disk: {strays}")
    trial.check_nothing_left()
    if (disk / "run.ckpt").exists():
        shutil.copytree(disk, trial.place, dirs_exist_ok=True)
        trial.resume()


def damage(trial, content):
    where = trial.random.randrange(len(content))
    kind = trial.random.choice(["bit", "cut", "more", "zeros", "exchange"])
    if kind == "bit":
        content[where] ^= 1 << trial.random.randrange(8)
    elif kind == "cut":
        del content[where:]
    elif kind == "more":
        content += os.urandom(trial.random.randint(1, 4096))
    elif kind == "zeros":
        end = min(len(content), where + 4096)
        content[where:end] = bytes(end - where) if any(content[where:end]) else b"\1" * (end - where)
    else:
        half = len(content) // 2
        content[:] = content[half:] + content[:half]
    return f"{kind} at {where}"


def damaged_file(trial):
    path = trial.place / "damaged.ckpt"
    content = bytearray(trial.reference.read_bytes())
    trial.what = "a damaged checkpoint: " + damage(trial, content)
    path.write_bytes(content)
    trial.start(resume=path)
    trial.end_by(trial.job.began + trial.start_up + trial.spare, "its end")
    trial.promise(all(code == 2 for code in trial.job.codes()), f"exit {trial.job.codes()}, not 2")
    said = [line.text for line in trial.job.lines]
    refused = [text for text in said if "damaged.ckpt" in text and "it is of step" not in text]
    trial.promise(len(refused) == trial.setup.nodes and len(said) <= 2 * trial.setup.nodes, f"not one line that names it: {said[:3]}")
    trial.promise(path.read_bytes() == bytes(content), "the damaged file was changed")
    trial.check_nothing_left()


def bother(port, words, held):
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=0.2)
        connection.sendall(words)
        held.append(connection)
    except OSError:
        pass


def strangers(trial):
    """They connect to whatever listens, say anything, and stay."""
    trial.what = "strangers on every port"
    trial.start()
    held, deadline = [], time.monotonic() + trial.whole + trial.spare
    while trial.job.launchers[0].poll() is None and time.monotonic() < deadline:
        for process in trial.job.processes():
            for _, port in looks.listening(process.pid):
                words = trial.random.choice([b"", b"\0" * 64, b"GET / HTTP/1.0\r\n\r\n", trial.random.randbytes(300)])
                bother(port, words, held)
        for connection in held[:-200]:
            connection.close()
        del held[:-200]
        time.sleep(0.01)
    trial.end_by(deadline, "its end")
    trial.happened.append(f"{len(held)} held on")
    for connection in held:
        connection.close()
    check_undisturbed(trial)


def cut_link(trial):
    """Shorter than the deadline it changes nothing; longer, both sides end and say whom they missed, or with a restart
    meet again when it is healed."""
    kind = trial.random.choice(["short", "long", "long", "healed"])
    trial.setup.restarts = 1 if kind == "healed" else 0
    node, phase = trial.random.randrange(2), trial.random.choice(PHASES)
    seconds = {"short": trial.random.uniform(0.1, 1), "long": TIMEOUT * 2 + GRACE, "healed": TIMEOUT + 1.5}[kind]
    trial.what = f"the link is cut at node {node} for {seconds:.1f} s, {phase}"
    trial.start()
    reached = trial.reach(phase)
    trial.hosts.cut(node)
    when = time.monotonic()
    try:
        if kind == "long" and reached:
            trial.end_by(when + TIMEOUT + GRACE, "deadline and grace")
        else:
            time.sleep(seconds)
    finally:
        trial.hosts.heal(node)
    if not (kind == "long" and reached):
        trial.end_by(time.monotonic() + 2 * trial.whole + trial.spare + 2 * TIMEOUT + GRACE, "its end")
        return check_undisturbed(trial)
    trial.check_nothing_left()
    if not is_done(trial):
        for one in (0, 1):
            check_others(trial, one)
        trial.resume()


def leave(trial):
    """A node of an elastic job is told to end: the other goes on from the newest checkpoint without it."""
    trial.setup.elastic, trial.setup.restarts = True, 1
    phase = trial.random.choice(PHASES[:4])
    trial.what = f"node 1 leaves, {phase}"
    trial.start()
    if not trial.reach(phase):
        trial.happened.append("too late")
    when = send(trial, trial.job.launcher_pid(1), signal.SIGTERM)
    trial.end_by(when + GRACE + LAST_CALL + 2 * trial.whole + trial.spare, "the other's end")
    trial.check_nothing_left()
    if is_done_by_all(trial):
        return
    first, second = trial.job.codes()
    trial.promise(first == 0, f"the other node did not go on: exit {first}, {trial.job.text()[-300:]}")
    trial.promise(second in (128 + signal.SIGTERM, -signal.SIGTERM), f"exit {second} after SIGTERM, not 143")
    trial.promise(trial.job.said(r"generation 1: node 0 "), "nobody said who is in the next generation")
    trial.promise(looks.step_of(trial.place / "run.ckpt") == STEPS, "the last step was not saved")


def is_done_by_all(trial):
    """Before the node could leave."""
    return not any(trial.job.codes()) and not trial.job.said("generation 1") and is_done(trial)


KINDS = {"kill-rank": (kill_rank, 5), "stop-rank": (stop_rank, 3), "term-rank": (term_rank, 2), "pause-rank": (pause_rank, 1),
         "kill-launcher": (kill_launcher, 3), "stop-launcher": (stop_launcher, 1), "term-launcher": (term_launcher, 2),
         "pause-launcher": (pause_launcher, 1), "full-disk": (full_disk, 1), "damage": (damaged_file, 1),
         "strangers": (strangers, 1), "cut": (cut_link, 2), "leave": (leave, 1)}
ONE_HOST = {"full-disk", "damage", "strangers"}
TWO_HOSTS = {"cut", "leave"}
__all__ = ["KINDS", "ONE_HOST", "STEPS", "TWO_HOSTS"]

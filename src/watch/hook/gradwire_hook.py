"""Looks at a training loop from the inside: counts steps of the optimizer, profiles a few of them, and writes what it saw
into GRADWIRE_WATCH_DIR: trace_rankN.json by torch's own profiler, notes_rankN.json by this file.

Works with torch 1.8 and later, with Kineto and without. It never prints, never raises into the program, and gives way to
a profiler of the program's own. A process that steps no optimizer leaves nothing.
"""
import atexit
import functools
import json
import os
import socket
import sys
import time
import weakref

EARLY = (2, 2)  # a short window first: what a run that ends early leaves; it also pays for the profiler's own start
now = time.perf_counter_ns


def number(name, otherwise):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return otherwise


def windows():
    """Pairs of the step after which a window begins and how many it has; a later one replaces what an earlier one left."""
    steps = number("GRADWIRE_WATCH_STEPS", 8)
    start = number("GRADWIRE_WATCH_START", -1)
    return [EARLY, (10, steps)] if start < 0 else [(start, steps)]


def thread_times():
    """Nanoseconds that each thread ran and that it waited for a core, by thread."""
    times = {}
    try:
        for thread in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/schedstat" % thread) as file:
                ran, waited = file.read().split()[:2]
            times[thread] = (int(ran), int(waited))
    except (OSError, ValueError):
        pass
    return times


def middle(values):
    values = sorted(values)
    return values[len(values) // 2] if values else None


class Profiler:
    """torch's, whichever this build has."""

    def __init__(self, torch):
        self.kineto = torch.autograd.profiler.kineto_available()
        if self.kineto:
            kinds = [torch.profiler.ProfilerActivity.CPU]
            if torch.cuda.is_available():
                kinds.append(torch.profiler.ProfilerActivity.CUDA)
            self.profile = torch.profiler.profile(activities=kinds, record_shapes=True)
        else:
            self.profile = torch.autograd.profiler.profile()

    def start(self):
        self.profile.start() if self.kineto else self.profile.__enter__()

    def stop(self):
        self.profile.stop() if self.kineto else self.profile.__exit__(None, None, None)

    def write(self, path):
        self.profile.export_chrome_trace(path + ".writing.json")
        os.replace(path + ".writing.json", path)


class Watch:
    def __init__(self, torch):
        self.torch = torch
        self.folder = os.environ["GRADWIRE_WATCH_DIR"]
        self.process = os.getpid()
        self.windows = windows()
        self.models = []  # weak references to what DistributedDataParallel wrapped
        self.optimizer = None  # the one whose steps count: the first that steps
        self.steps = 0
        self.last = 0  # when the program went on after the last step
        self.before, self.inside, self.after = [], [], []  # step times in ns
        self.own = 0  # ns of this hook, outside of windows
        self.profiler = None
        self.mark = None
        self.ours = False  # a call into the profiler is this hook's
        self.foreign = False  # the program has a profiler of its own
        self.profiled = None
        self.problems = []
        self.costs = {}
        self.processor = {}
        self.name = None
        self.said = None  # what DistributedDataParallel said of itself last; the model may be gone at the end

    # --- steps

    def stepped(self, optimizer):
        began = now()
        if os.getpid() != self.process:  # a fork that trains by itself is none of this watch's
            return
        if self.optimizer is None:
            self.optimizer = weakref.ref(optimizer)
        if self.optimizer() is not optimizer:
            return
        if self.last:
            (self.inside if self.profiler else self.after if self.profiled else self.before).append(began - self.last)
        self.steps += 1
        moved = self.move()
        self.last = now()
        if not moved:
            self.own += self.last - began

    def move(self):
        """Begins or ends a window where this step does; says whether it did."""
        try:
            if self.profiler:
                self.end_mark()
                if self.steps < self.window[0] + self.window[1]:
                    self.begin_mark()
                else:
                    self.end()
                return True
            if self.windows and self.steps == self.windows[0][0]:
                self.window = self.windows.pop(0)
                self.begin()
                return True
            if self.steps == 1:
                self.write_notes()
                return True
        except Exception as problem:
            self.give_up(problem)
        return False

    def begin_mark(self):
        self.mark = self.torch.autograd.profiler.record_function("ProfilerStep#%d" % self.steps)
        self.mark.__enter__()

    def end_mark(self):
        if self.mark:
            mark, self.mark = self.mark, None
            mark.__exit__(None, None, None)

    # --- windows

    def begin(self):
        if self.foreign:
            return
        began = now()
        self.inside = []
        self.ours = True
        try:
            profiler = Profiler(self.torch)
            profiler.start()
            self.profiler = profiler
        finally:
            self.ours = False
        self.costs["start_ms"] = (now() - began) / 1e6
        self.threads = thread_times()
        self.opened = now()
        self.begin_mark()

    def end(self):
        profiler, self.profiler = self.profiler, None
        length, threads = now() - self.opened, thread_times()
        began = now()
        self.ours = True
        try:
            profiler.stop()
        finally:
            self.ours = False
        profiler.write(os.path.join(self.folder, "trace_%s.json" % self.own_name()))
        self.costs["write_ms"] = (now() - began) / 1e6
        self.profiled = {"first": self.window[0], "count": len(self.inside)}
        self.note_processor(threads, length)
        self.write_notes()

    def note_processor(self, threads, length):
        steps = max(1, len(self.inside))
        main = str(os.getpid())
        waited = 0  # of the main thread, or of another that computes most of the time: a collective's may wait its turn
        for thread, (ran, wait) in threads.items():
            before = self.threads.get(thread, (0, 0))
            if thread == main or ran - before[0] > 0.5 * length:
                waited = max(waited, wait - before[1])
        self.processor = {
            "cores": len(os.sched_getaffinity(0)),
            "threads": self.torch.get_num_threads(),
            "waited_ms": waited / steps / 1e6,
            "window_ms": length / steps / 1e6,
        }

    def give_up(self, problem):
        self.problems.append("%s: %s" % (type(problem).__name__, str(problem).splitlines()[0] if str(problem) else ""))
        self.windows = []
        self.drop()
        try:
            self.write_notes()
        except Exception:
            pass

    def drop(self):
        """Ends a window without a trace."""
        profiler, self.profiler = self.profiler, None
        if not profiler:
            return
        try:
            self.end_mark()
            self.ours = True
            profiler.stop()
        except Exception:
            pass
        finally:
            self.ours = False

    def yield_to(self, other):
        """The program starts a profiler: one process can have one."""
        if self.ours or other is getattr(self.profiler, "profile", None):
            return
        self.foreign = True
        self.windows = []
        if self.profiler:
            self.drop()
        note = "the program runs a profiler of its own, which was left alone"
        if note not in self.problems:
            self.problems.append(note)

    # --- what is left

    def rank(self):
        distributed = self.torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size(), str(distributed.get_backend())
        for rank, world in (
            ("RANK", "WORLD_SIZE"),
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
            ("SLURM_PROCID", "SLURM_NTASKS"),
        ):
            if number(rank, -1) >= 0:
                return number(rank, 0), number(world, 1), ""
        return 0, 1, ""

    def own_name(self):
        """rankN, unless another process that still runs has taken that."""
        if self.name is None:
            name = "rank%d" % self.rank()[0]
            try:
                with open(os.path.join(self.folder, "notes_%s.json" % name)) as file:
                    holder = json.load(file).get("process", 0)
                if holder != self.process and os.path.exists("/proc/%d" % holder):
                    name = "process%d" % self.process
            except (OSError, ValueError):
                pass
            self.name = name
        return self.name

    def logging_data(self):
        """What DistributedDataParallel says of itself; of several models the last."""
        data = None
        for reference in reversed(self.models):
            model = reference()
            if model is None or not hasattr(model, "_get_ddp_logging_data"):
                continue
            data = model._get_ddp_logging_data()
            break
        if data:
            self.said = {key: value if isinstance(value, (int, float)) else str(value) for key, value in data.items()}
        return self.said

    def write_notes(self):
        rank, world, backend = self.rank()
        notes = {
            "gradwire_watch": 1,
            "rank": rank,
            "world": world,
            "backend": backend,
            "process": self.process,
            "host": socket.gethostname(),
            "torch": str(self.torch.__version__),
            "kineto": bool(self.torch.autograd.profiler.kineto_available()),
            "script": sys.argv[0] if sys.argv else "",
            "steps": self.steps,
            "profiled": self.profiled,
            "step_ms": {
                name: middle(times) / 1e6 if times else None
                for name, times in (("before", self.before), ("profiled", self.inside), ("after", self.after))
            },
            "own_us": self.own / 1e3 / max(1, len(self.before) + len(self.after)),
            "costs": self.costs,
            "processor": self.processor,
            "ddp": None,
            "problems": self.problems,
        }
        try:
            notes["ddp"] = self.logging_data()
        except Exception as problem:
            notes["problems"] = self.problems + ["DistributedDataParallel's logging data: %s" % problem]
        path = os.path.join(self.folder, "notes_%s.json" % self.own_name())
        with open(path + ".writing", "w") as file:
            json.dump(notes, file)
        os.replace(path + ".writing", path)

    def write_flight_record(self):
        dump = getattr(getattr(self.torch._C, "_distributed_c10d", None), "_dump_nccl_trace_json", None)
        if dump is None or not self.torch.cuda.is_available():
            return
        text = dump()
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if "entries" in text:
            with open(os.path.join(self.folder, "flight_%s.json" % self.own_name()), "w") as file:
                file.write(text)

    def leave(self):
        if os.getpid() != self.process or not self.steps:
            return
        try:
            if self.profiler:  # the run was shorter than the window
                self.end_mark()
                self.end()
            self.write_notes()
            self.write_flight_record()
        except Exception as problem:
            self.give_up(problem)


def set_flight_recorder(torch):
    """The last collectives of NCCL, kept and left behind by a run that hangs; names are those of this version."""
    version = [int(part) for part in torch.__version__.split("+")[0].split(".")[:2] if part.isdigit()]
    sizes = ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE")
    files = ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE")
    if version < [2, 2] or any(name in os.environ for name in sizes + files + ("TORCH_NCCL_DUMP_ON_TIMEOUT",)):
        return
    newer = version >= [2, 9]
    os.environ[sizes[newer]] = "2000"
    os.environ[files[newer]] = os.path.join(os.environ["GRADWIRE_WATCH_DIR"], "flight_rank")
    os.environ["TORCH_NCCL_DUMP_ON_TIMEOUT"] = "1"


def install(torch):
    watch = Watch(torch)
    set_flight_recorder(torch)
    atexit.register(watch.leave)
    hook_optimizers(torch, watch)
    hook_models(torch, watch)
    hook_profilers(torch, watch)


def hook_optimizers(torch, watch):
    create = torch.optim.Optimizer.__init__

    @functools.wraps(create)
    def create_and_hook(self, *arguments, **named):
        create(self, *arguments, **named)
        kind = type(self)
        step = kind.step
        if getattr(step, "watched_by_gradwire", False):
            return

        @functools.wraps(step)
        def watched_step(self, *arguments, **named):
            result = step(self, *arguments, **named)
            watch.stepped(self)
            return result

        watched_step.watched_by_gradwire = True
        kind.step = watched_step

    torch.optim.Optimizer.__init__ = create_and_hook


def hook_models(torch, watch):
    kind = getattr(torch.nn.parallel, "DistributedDataParallel", None)
    if kind is None:
        return
    create = kind.__init__

    @functools.wraps(create)
    def create_and_note(self, *arguments, **named):
        create(self, *arguments, **named)
        watch.models.append(weakref.ref(self))

    kind.__init__ = create_and_note


def hook_profilers(torch, watch):
    kind = torch.autograd.profiler.profile
    for name in ("__enter__", "_prepare_trace", "_start_trace"):
        if not hasattr(kind, name):
            continue

        def wrapped(start):
            @functools.wraps(start)
            def start_alone(self, *arguments, **named):
                watch.yield_to(self)
                return start(self, *arguments, **named)

            return start_alone

        setattr(kind, name, wrapped(getattr(kind, name)))

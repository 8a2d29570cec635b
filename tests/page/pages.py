"""The pages of the verbs, as files: every page is whole, has the fields that docs/page.md promises, and asks nobody.

Called with the program and a folder to write to.
"""
import base64
import json
import random
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

program, folder = sys.argv[1], Path(sys.argv[2])
BLOCKS = {
    "title": {"text"}, "sentence": {"text"}, "gap": set(), "drawing": {"text"},
    "table": {"rows", "left", "prose_last"}, "grid": {"rows", "columns", "cells"},
    "bars": {"parts", "bars"}, "curves": {"title", "x", "y", "series"},
}
NODES = {"gpu", "nvswitch", "pcie-switch", "root", "cpu", "memory", "nic", "network"}
HOSTILE = "</script><img src=x onerror=alert(1)>"


def run(*words, code=0):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stderr}"
    return done


def data_of(html):
    found = re.findall(r'<script type="application/json" id="gradwire-data">(.*?)</script>', html, re.S)
    assert len(found) == 1, "one place for data"
    return json.loads(found[0])


def column(timeline, name):
    raw = zlib.decompress(base64.b64decode(timeline["columns"][name], validate=True), -15)
    count = timeline["count"]
    size = len(raw) // count if count else 4
    assert size in (4, 8) and len(raw) == size * count, (name, len(raw), count)
    values, total = [], 0
    for delta in struct.unpack(f"<{count}{'i' if size == 4 else 'd'}", raw):
        total = total + delta if size == 8 else (total + delta + 2**31) % 2**32 - 2**31
        values.append(total)
    return values


def check_timeline(timeline):
    assert timeline["origin"] in ("measured", "predicted")
    assert timeline["count"] > 0
    for name, size in (("lane", len(timeline["lanes"])), ("kind", len(timeline["kinds"])), ("name", len(timeline["names"]))):
        assert all(0 <= value < size for value in column(timeline, name)), name
    assert all(value >= 0 for name in ("begin_ns", "duration_ns", "step") for value in column(timeline, name))
    assert all(value >= -1 for name in ("bytes", "ready_ns") for value in column(timeline, name))


def check_topology(topology):
    ids = [node["id"] for node in topology["nodes"]]
    assert len(ids) == len(set(ids)) and ids
    assert all(node["kind"] in NODES and node.get("parent", ids[0]) in ids for node in topology["nodes"])
    for link in topology["links"]:
        assert link["a"] in ids and link["b"] in ids and link["gbps"] > 0 and link["text"]
        assert 0 <= link.get("load", 0) <= 1


def check_page(html, verb):
    assert len(html) < 3 << 20, len(html)
    outside = re.findall(r'(?:src|href)="(?!data:)[^"#]', html)
    assert not outside and "@import" not in html, outside
    assert "<img src=x" not in html
    page = data_of(html)
    assert page["schema"] == 1 and page["verb"] == verb and page["title"] and page["version"]
    assert page["command"].startswith("gradwire ") and "--html" not in page["command"], page["command"]
    assert isinstance(page["data"], dict) and page["blocks"]
    for block in page["blocks"]:
        assert set(block) - {"kind"} == BLOCKS[block["kind"]], block
    for timeline in page["timelines"]:
        check_timeline(timeline)
    for topology in page["topologies"]:
        check_topology(topology)
    return page


def page_of(verb, *words, code=0):
    file = folder / f"{verb}.html"
    file.unlink(missing_ok=True)
    done = run(verb, *words, "--html", str(file), code=code)
    assert done.stderr.endswith(f"wrote {file}: open it in a browser\n"), done.stderr
    return check_page(file.read_text(encoding="utf-8"), verb)


def trace(rank):
    """A rank of two GPUs that trains two steps, with names that would like to be more than text."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 1000}
              for i in range(2)]
    for i in range(2):
        begin = 1000 * i
        events.append({"ph": "X", "cat": "kernel", "name": HOSTILE, "pid": 0, "tid": 7, "ts": begin + 100, "dur": 500,
                       "args": {"stream": 7, "correlation": 10 * i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20,
                       "ts": begin + 300, "dur": 500,
                       "args": {"stream": 20, "correlation": 10 * i + 2, "Collective name": "allreduce",
                                "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "dtype": "Float", "Group size": 2}})
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}


def long_trace(rank, steps=50, kernels=400):
    """A rank of eight over 50 steps, each with kernels of uneven lengths and gaps."""
    draw = random.Random(rank)
    events, now = [], 0.0
    for step in range(steps):
        begin = now
        for kernel in range(kernels):
            duration = draw.uniform(5, 200)
            events.append({"ph": "X", "cat": "kernel", "name": f"kernel_{draw.randrange(60)}", "pid": 0, "tid": 7,
                           "ts": round(now, 3), "dur": round(duration, 3), "args": {"stream": 7, "correlation": step * kernels + kernel}})
            now += duration + draw.choice([0.5, 1, 2, 5, 20])
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                       "ts": round(begin, 3), "dur": round(now - begin, 3)})
    return dict(trace(rank), distributedInfo={"backend": "nccl", "rank": rank, "world_size": 8}, traceEvents=events)


def check_growth(small):
    """Eight ranks of 50 steps add at most 1 MB to a page."""
    for rank in range(8):
        (folder / f"long{rank}.json").write_text(json.dumps(long_trace(rank)))
    page_of("analyze", *(str(folder / f"long{rank}.json") for rank in range(8)))
    large = (folder / "analyze.html").stat().st_size
    assert large - small < 1_000_000, (small, large)


def main():
    folder.mkdir(parents=True, exist_ok=True)
    page = page_of("compare", "gpt2", "--on", "2x-rtx3090-nvlink", "--on", "2x-rtx3090-pcie", "--sweep", "batch=4,8")
    assert len(page["timelines"]) == len(page["topologies"]) == 2
    assert page["question"]["model"] == "gpt2" and len(page["question"]["machines"]) == 2
    printed = json.loads(run("compare", "gpt2", "--on", "2x-rtx3090-nvlink", "--on", "2x-rtx3090-pcie", "--sweep",
                             "batch=4,8", "--json").stdout)
    assert printed == page["data"], "the page's data is what --json prints"
    for machine, topology in zip(printed["machines"], page["topologies"]):
        assert machine["narrowest_link"] == topology["narrowest"]

    pictures = json.loads((Path(__file__).parents[2] / "docs/pages/made_from.json").read_text())
    assert pictures["sentence"] == printed["answer"]["sentence"], "docs/pages shows another answer: run tools/screenshots"

    matrix = folder / "box<script>.txt"
    matrix.write_text("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n")
    page = page_of("compare", "gpt2", "--on", f"{matrix}:rtx3090")
    assert page["question"]["machines"][0]["matrix"] == matrix.read_text()

    assert page_of("page")["question"]["model"] == "gpt2"
    assert len(page_of("topo", "2*dgx-a100@hdr")["topologies"]) == 1
    page = page_of("bench", "all_reduce", "--on", "dgx-a100", "--sizes", "1M,64M")
    assert any(block["kind"] == "curves" and block["x"] and block["y"] for block in page["blocks"])
    page = page_of("bench", "all_reduce", "-n", "2", "--backend", "shm", "--sizes", "4,1K", "--rounds", "1")
    assert page["data"]["rows"]
    page = page_of("train", "gpt2", "--on", "2x-rtx3090-nvlink")
    assert [timeline["origin"] for timeline in page["timelines"]] == ["predicted"]

    files = []
    for rank in range(2):
        files.append(str(folder / f"rank{rank}{HOSTILE.replace('/', '')}.json"))
        Path(files[-1]).write_text(json.dumps(trace(rank)))
    page = page_of("analyze", *files)
    timeline = page["timelines"][0]
    assert HOSTILE in timeline["names"] and {lane["rank"] for lane in timeline["lanes"]} == {0, 1}
    assert timeline["origin"] == "measured" and timeline["world"] == 2
    assert max(column(timeline, "bytes")) == 4 << 20
    check_growth((folder / "analyze.html").stat().st_size)
    log = folder / "run.log"
    log.write_text("host:1:1 [0] NCCL INFO NCCL version 2.18.3+cuda12.1\nhost:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n")
    finished = subprocess.run([program, "doctor", str(log), "--html", str(folder / "doctor.html")], capture_output=True, timeout=120)
    assert finished.returncode in (0, 3), finished.stderr
    check_page((folder / "doctor.html").read_text(encoding="utf-8"), "doctor")

    missing = run("topo", "dgx-a100", "--html", str(folder / "no/such/page.html"), code=2).stderr
    assert missing.count("\n") == 1 and "there is no folder" in missing, missing
    print("pages: ok")


main()

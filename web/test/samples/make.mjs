// Pages to test with, made here: the same on every machine, and with what a real page would hardly hold.
import { readFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';

const recorded = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
const sentence = (text) => ({ kind: 'sentence', text });
const title = (text) => ({ kind: 'title', text });
const gap = { kind: 'gap' };
const ms = (value) => `${value < 99.5 ? value.toFixed(1) : value.toFixed(0)} ms`;

function packed(values, Column) {
  const differences = new Column(values.length);
  for (let i = 0; i < values.length; i++) differences[i] = i === 0 ? values[0] : values[i] - values[i - 1];
  return deflateRawSync(Buffer.from(differences.buffer)).toString('base64');
}

// Spans as [lane, kind, name, step, begin_ns, duration_ns, bytes, ready_ns], names and kinds as words.
export function timeline(name, origin, lanes, spans) {
  const words = (column) => [...new Set(spans.map((span) => span[column]))];
  const kinds = words(1), names = words(2);
  const kindAt = new Map(kinds.map((kind, at) => [kind, at])), nameAt = new Map(names.map((one, at) => [one, at]));
  const whole = (pick) => packed(spans.map(pick), Int32Array), real = (pick) => packed(spans.map(pick), Float64Array);
  return { name, origin, lanes, kinds, names, count: spans.length, columns: {
    lane: whole((span) => span[0]), kind: whole((span) => kindAt.get(span[1])), name: whole((span) => nameAt.get(span[2])), step: whole((span) => span[3]),
    begin_ns: real((span) => span[4]), duration_ns: whole((span) => span[5]), bytes: real((span) => span[6] ?? -1), ready_ns: real((span) => span[7] ?? -1) } };
}

const twoLanes = (ranks) => Array.from({ length: ranks }, (_, rank) => [{ rank, name: 'compute' }, { rank, name: 'communication' }]).flat();

// A step of DDP on every rank: forward, backward with buckets leaving under it, a wait, the optimizer.
export function stepSpans(ranks, parts, { step = 0, from = 0, buckets = 19, jitter = 0 } = {}) {
  const spans = [], ns = (value) => Math.round(value * 1e6);
  for (let rank = 0; rank < ranks; rank++) {
    const late = ns(((rank * 7 + step * 3) % 5) * jitter);
    const forward = from + late, backward = forward + ns(parts.forward), end = backward + ns(parts.backward);
    spans.push([2 * rank, 'forward', '', step, forward, ns(parts.forward)], [2 * rank, 'backward', '', step, backward, ns(parts.backward)]);
    const each = ns(parts.comm / buckets);
    let free = 0;
    for (let bucket = 0; bucket < buckets; bucket++) {
      const ready = Math.round(backward + ((bucket + 1) / buckets) * ns(parts.backward));
      const begin = Math.max(ready, free);
      free = begin + each;
      spans.push([2 * rank + 1, 'bucket', `bucket ${bucket}`, step, begin, each, 26214400, ready]);
    }
    const wait = Math.max(0, free - end);
    if (wait > 0) spans.push([2 * rank, 'wait', 'wait', step, end, wait]);
    spans.push([2 * rank, 'optimizer', '', step, end + wait, ns(parts.optimizer)]);
  }
  return spans;
}

const partsOf = (machine) => ({ forward: machine.breakdown_ms.forward, backward: machine.breakdown_ms.backward,
  comm: machine.comm_total_ms, optimizer: machine.breakdown_ms.optimizer });

function twoCards(name, nvlink, load) {
  const nodes = [{ id: 'c', kind: 'cpu', name: 'CPU0', host: 0 }, { id: 'm', kind: 'memory', name: 'MEM0', host: 0, parent: 'c' },
    { id: 'r', kind: 'root', name: 'PCI0', host: 0, parent: 'c' }, { id: 'g0', kind: 'gpu', name: 'GPU0', host: 0, parent: 'r' }, { id: 'g1', kind: 'gpu', name: 'GPU1', host: 0, parent: 'r' }];
  const pcie = (gpu, narrowest) => ({ a: 'r', b: gpu, kind: 'pcie', gbps: 12.5, load: nvlink ? 0 : load, narrowest, text: `PCIe slot of GPU${gpu[1]}, PCIe 4 x8` });
  const links = [{ a: 'c', b: 'm', kind: 'memory', gbps: 81.9, load: nvlink ? 0 : 0.31, text: 'memory of CPU0' }, { a: 'c', b: 'r', kind: 'internal', gbps: 5000, text: 'host bridge' },
    pcie('g0', !nvlink), pcie('g1', false)];
  if (nvlink) links.push({ a: 'g0', b: 'g1', kind: 'nvlink', gbps: 48, load: 0.86, narrowest: true, text: 'NVLinks of GPU0, NVLink 3 x4' });
  return { name, nodes, links };
}

function twoHosts(name) {
  const nodes = [{ id: 'n', kind: 'network', name: '10 Gb Ethernet', host: -1 }], links = [];
  for (const host of [0, 1]) {
    nodes.push({ id: `c${host}`, kind: 'cpu', name: 'CPU0', host }, { id: `m${host}`, kind: 'memory', name: 'MEM0', host, parent: `c${host}` }, { id: `r${host}`, kind: 'root', name: 'PCI0', host, parent: `c${host}` },
      { id: `g${host}`, kind: 'gpu', name: 'GPU0', host, parent: `r${host}` }, { id: `i${host}`, kind: 'nic', name: 'NIC0', host, parent: `r${host}` });
    links.push({ a: `c${host}`, b: `m${host}`, kind: 'memory', gbps: 81.9, load: 0.05, text: 'memory' }, { a: `c${host}`, b: `r${host}`, kind: 'internal', gbps: 5000, text: 'host bridge' },
      { a: `r${host}`, b: `g${host}`, kind: 'pcie', gbps: 25, load: 0.04, text: 'PCIe 4 x16' }, { a: `r${host}`, b: `i${host}`, kind: 'pcie', gbps: 12.5, load: 0.09, text: 'PCIe 3 x8' },
      { a: `i${host}`, b: 'n', kind: 'ethernet', gbps: 1.14, load: 0.97, narrowest: host === 0, text: '1 x 10 Gbit/s ethernet' });
  }
  return { name, nodes, links };
}

export function eightOnSwitch(name = 'dgx-a100', gpus = 8) {
  const nodes = [{ id: 'nv', kind: 'nvswitch', name: 'NVSwitch', host: 0 }], links = [{ a: 'c0', b: 'c1', kind: 'socket', gbps: 40, text: 'between sockets' }];
  for (let socket = 0; socket < 2; socket++) {
    nodes.push({ id: `c${socket}`, kind: 'cpu', name: `CPU${socket}`, host: 0 }, { id: `m${socket}`, kind: 'memory', name: `MEM${socket}`, host: 0, parent: `c${socket}` });
    links.push({ a: `c${socket}`, b: `m${socket}`, kind: 'memory', gbps: 120, text: 'memory' });
    for (let pair = 0; pair < gpus / 4; pair++) {
      const at = socket * (gpus / 4) + pair;
      nodes.push({ id: `s${at}`, kind: 'pcie-switch', name: `SW${at}`, host: 0, parent: `c${socket}` }, { id: `i${at}`, kind: 'nic', name: `NIC${at}`, host: 0, parent: `s${at}` });
      links.push({ a: `c${socket}`, b: `s${at}`, kind: 'pcie', gbps: 25, text: 'PCIe 4 x16' }, { a: `s${at}`, b: `i${at}`, kind: 'pcie', gbps: 25, text: 'PCIe 4 x16' });
      for (const gpu of [2 * at, 2 * at + 1]) {
        nodes.push({ id: `g${gpu}`, kind: 'gpu', name: `GPU${gpu}`, host: 0, parent: `s${at}` });
        links.push({ a: `s${at}`, b: `g${gpu}`, kind: 'pcie', gbps: 25, text: 'PCIe 4 x16' }, { a: `g${gpu}`, b: 'nv', kind: 'nvlink', gbps: 240, load: 0.92, narrowest: gpu === 0, text: `NVLinks of GPU${gpu}` });
      }
    }
  }
  return { name, nodes, links };
}

function compareBlocks(data) {
  const machines = data.machines, shares = [['forward', '▒'], ['backward', '█'], ['slowed', '~'], ['exposed', '!'], ['optimizer', '▓'], ['other', '-']];
  return [sentence(data.answer.sentence), gap, sentence('GPT-2 small, batch 4 a GPU, fp32 (without TF32), 474.7 MiB of gradients a step'),
    { kind: 'table', left: 1, prose_last: false, rows: [['', 'step', 'sequences/s', 'exposed', 'comm costs', 'scaling'],
      ...machines.map((m) => [m.on, ms(m.step_ms), m.samples_per_s.toFixed(1), ms(m.comm_exposed_ms), ms(m.comm_cost_ms), `${Math.round(100 * m.scaling)} %`])] },
    sentence('comm costs: what is exposed, and backward slowed by collectives under it'),
    ...machines.map((m) => sentence(`${m.on}: ${m.algorithm}; narrowest: ${m.narrowest_link}`)), gap, title("Where a step's time goes"),
    { kind: 'bars', parts: shares.map(([name, mark]) => ({ name, mark, in_legend: true })), bars: machines.map((m) => ({ name: m.on, label: ms(m.step_ms),
      values: [m.breakdown_ms.forward, m.breakdown_ms.backward - m.comm_slowdown_ms, m.comm_slowdown_ms, m.comm_exposed_ms, m.breakdown_ms.optimizer, m.breakdown_ms.other].map((one) => one / 1e3) })) },
    gap, title(`What else would help on ${data.remedies_on} (the link: 2.40x)`), ...data.remedies.map((r) => sentence(`  ${r.what} ${r.speedup.toFixed(2)}x ${r.note}`)),
    gap, title('Where the answer turns'), ...data.turns.map((turn) => sentence(`${turn.what} it does not matter`)),
    gap, sentence("How sure: computing is estimated from the GPU's peaks, 40 % off on average; give --step-ms, a step measured on one GPU, to make it exact; eight of ten all-reduce times lie within 151 % on machines left out of the fit. "
      + 'Bytes over link rate alone would say 247 ms for 2x-rtx3090-nvlink, 265 ms for 2x-rtx3090-pcie, 574 ms for 2*1x-rtx3090@10gbe.')];
}

const page = (verb, command, rest) => ({ schema: 1, verb, command, version: '0.9.0', title: command.replace(/^gradwire /, ''), blocks: [], data: {}, timelines: [], topologies: [], ...rest });

export function comparePage() {
  const data = recorded('compare_data.json');
  return page('compare', "gradwire compare gpt2 --on 2x-rtx3090-nvlink --on 2x-rtx3090-pcie --on '2*1x-rtx3090@10gbe'", { data, blocks: compareBlocks(data),
    timelines: data.machines.map((machine) => timeline(machine.on, 'predicted', twoLanes(2), stepSpans(2, partsOf(machine)))),
    topologies: [twoCards('2x-rtx3090-nvlink', true, 0), twoCards('2x-rtx3090-pcie', false, 0.94), twoHosts('2*1x-rtx3090@10gbe')],
    question: { model: 'gpt2', machines: data.machines.map((machine) => machine.on) } });
}

export function trainPage() {
  const parts = { forward: 8, backward: 17, comm: 9, optimizer: 3 };
  const steps = Array.from({ length: 40 }, (_, step) => stepSpans(2, { ...parts, backward: 17 + (step % 4) }, { step, from: step * 33e6, buckets: 5, jitter: 0.3 })).flat();
  return page('train', 'gradwire train gpt-tiny -n 2 --steps 40', { data: { model: 'gpt-tiny', breakdown_ms: { data: 0.4, forward: 8, backward: 18.2, comm_exposed: 1.2, comm_overlapped: 7.8, optimizer: 3, other: 0.2 }, samples_per_s: 512, step_ms: 31 },
    blocks: [sentence('gpt-tiny: 0.82 M parameters, 3.2 MiB of gradients in 5 buckets'), sentence('loss 4.1745 -> 2.4810 in 40 steps'), gap, title('512.0 samples/s; where a median step of 31.00 ms went:')],
    timelines: [timeline('this run', 'measured', twoLanes(2), steps), timeline('as predicted', 'predicted', twoLanes(2), stepSpans(2, { ...parts, comm: 7 }, { buckets: 5 }))] });
}

// A profile: ranks x steps, each with kernels on two streams.
export function analyzePage({ ranks = 8, steps = 50, kernels = 400 } = {}) {
  const lanes = [], spans = [], names = Array.from({ length: 60 }, (_, at) => `void at::native::vectorized_elementwise_kernel<${at}, float>`);
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let rank = 0; rank < ranks; rank++) {
    lanes.push({ rank, name: 'stream 7' }, { rank, name: 'stream 20' });
    let time = 0;
    for (let step = 0; step < steps; step++) {
      for (let kernel = 0; kernel < kernels; kernel++) {
        const duration = Math.round(1500 + 60000 * random() ** 4);
        if (kernel % 50 === 49) spans.push([2 * rank + 1, 'collective', 'ncclDevKernel_AllReduce_Sum_f32_RING_LL', step, time, duration * 9, 26214400]);
        else spans.push([2 * rank, kernel < kernels / 3 ? 'forward' : kernel < kernels * 0.9 ? 'backward' : 'optimizer', names[Math.floor(random() * names.length)], step, time, duration]);
        time += duration + Math.round(900 * random());
      }
      time = Math.max(time, (step + 1) * kernels * 16000);
    }
  }
  const breakdown = (rank) => ({ data: 0.1, copies: 0.4, forward: 31 + rank, backward: 62, comm_exposed: 18 - rank, comm_overlapped: 30, optimizer: 9, other: 0.6, idle: 6 });
  const rows = [[1024, 0.6, 0.7], [65536, 4.1, 6.2], [1048576, 12, 19], [26214400, 21.2, 43], [104857600, 24, 45]];
  return page('analyze', 'gradwire analyze traces/', { blocks: [sentence('communication_intra: 18.0 ms of a 127.0 ms step are communication inside the node that no computing hides.'), gap, title('A step of 127.0 ms, mean of the ranks'),
    { kind: 'drawing', text: '  [FFFFFFFFFBBBBBBBBBBBBBXXXXOO..]\n' }],
    data: { world: ranks, verdict: { bottleneck: 'communication_intra', rank: null, reason: 'x', figures: [{ what: 'step', value: 127, unit: 'ms' }, { what: 'exposed', value: 18, unit: 'ms' }, { what: 'exposed of the step', value: 14.2, unit: '%' }] },
      notes: ['2 of the traces begin in the middle of a step: that step is left out'],
      ranks: Array.from({ length: ranks }, (_, rank) => ({ rank, breakdown_ms: breakdown(rank) })),
      collectives: rows.map(([bytes, busbw, expected]) => ({ collective: 'all_reduce', bytes, busbw_gbps: busbw, expected_busbw_gbps: expected })) },
    timelines: [timeline('traces/', 'measured', lanes, spans)] });
}

export function doctorPage() {
  const findings = [{ rule: 'R05', severity: 'high', sure: 'certain', what: 'GPUs of one node talk through host memory (SHM), not directly: NVLink is not used, nor PCIe peer access', evidence: 'run.txt:24: via SHM/direct/direct (4 connections)',
    cost_ms: 41.3, cost_note: '', fix: 'nvidia-smi topo -m; nvidia-smi topo -p2p r  # which pairs have NVLink or peer access' },
    { rule: 'R12', severity: 'medium', sure: 'likely', what: 'NCCL_P2P_LEVEL=LOC keeps GPUs from reaching each other', evidence: 'run.txt:3', cost_ms: null, cost_note: '', fix: 'unset NCCL_P2P_LEVEL' }];
  return page('doctor', 'gradwire doctor run.txt topo.txt', { data: { findings, hints: [{ ...findings[1], what: 'the loader may be slow', fix: 'num_workers=8' }], nvlink: { present: 'yes', used: 'no', why: 'the log shows SHM alone' }, looked_at: ['a log of NCCL'], left_out: [] },
    blocks: [sentence(` 1. ${findings[0].what} [R05, high, certain]`), sentence(`seen   ${findings[0].evidence}`), sentence('costs  41.3 ms a step'), sentence(`mend   ${findings[0].fix}`), gap, sentence('NVLink: present yes, used no: the log shows SHM alone.')] });
}

export function benchPage() {
  const data = recorded('bench_data.json');
  const size = (bytes) => (bytes >= 1048576 ? `${bytes / 1048576} MiB` : `${bytes / 1024} KiB`);
  return page('bench', 'gradwire bench all_reduce --on 2x-rtx3090-pcie --sizes 1K:256M:4', { data, blocks: [sentence('# all_reduce on 2x-rtx3090-pcie: 2 GPUs of rtx3090 on 1 node; predicted, not measured; GB/s'),
    { kind: 'table', left: 1, prose_last: false, rows: [['backend', 'bytes', 'us', 'busbw'], ...data.rows.map((row) => [row.backend, String(row.bytes), row.time_us.toFixed(1), row.busbw_gbps.toFixed(2)])] },
    { kind: 'curves', title: 'bus bandwidth, GB/s, over size (both axes logarithmic)', x: 'bytes', y: 'GB/s', series: [{ name: 'nccl', points: data.rows.map((row) => [row.bytes, row.busbw_gbps, size(row.bytes), `${row.busbw_gbps.toFixed(2)}`, row.busbw_gbps / (1 + row.relative_error), row.busbw_gbps * (1 + row.relative_error)]) }] }] });
}

export function topoPage() {
  return page('topo', 'gradwire topo --on dgx-a100', { topologies: [eightOnSwitch()], data: { notes: ['the processor is not stated: taken as EPYC 7002 and 7003 (Rome, Milan)'] },
    blocks: [sentence('dgx-a100: 8 x NVIDIA A100-SXM4-80GB, NVSwitch, PCIe 4 x16'), gap, title('Paths, as nvidia-smi topo -m shows them'),
      { kind: 'grid', rows: ['GPU0', 'GPU1', 'GPU2'], columns: ['GPU0', 'GPU1', 'GPU2'], cells: [['X', 'NV12', 'NV12'], ['NV12', 'X', 'NV12'], ['NV12', 'NV12', 'X']] }, gap, title('The node'),
      { kind: 'drawing', text: '  CPU0  EPYC 7002\n  └─ PCI0\n     └─ GPU0 GPU1  PCIe 4 x16, 25 GB/s each\n' }] });
}

const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u2028"\'</script><!--';

// Every text of a page replaced by one that would run if anything took it for markup.
export function hostilePage() {
  const poison = (value, key) => Array.isArray(value) ? value.map((item) => poison(item, key)) : value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poison(item, name)]))
    : typeof value === 'string' && !['kind', 'verb', 'lane', 'name_column', 'step', 'begin_ns', 'duration_ns', 'bytes', 'ready_ns', 'a', 'b', 'id', 'parent'].includes(key) ? `${hostile}${value}` : value;
  const compare = comparePage(), doctor = doctorPage();
  const columns = compare.timelines.map((one) => one.columns);
  const page = poison({ ...compare, data: { ...compare.data, findings: doctor.data.findings, nvlink: doctor.data.nvlink, warnings: ['w'] }, question: undefined });
  page.timelines.forEach((one, at) => (one.columns = columns[at]));
  page.topologies.forEach((one) => one.links.forEach((link) => (link.kind = hostile)));
  return page;
}

export const samples = { compare: comparePage, train: trainPage, analyze: analyzePage, doctor: doctorPage, bench: benchPage, topo: topoPage, hostile: hostilePage };

// As the command writes a page: JSON that cannot end its element.
export function fill(template, data) {
  const text = JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const escaped = (words) => words.replace(/[<>&"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const first = data?.blocks?.find((block) => block.kind === 'sentence');
  const words = data ? `<header class="head"><p class="brand">Gradwire</p><h1>${escaped(data.title ?? '')}</h1></header><main class="main"><p class="sentence">${escaped(first?.text ?? '')}</p></main>` : '';
  return template.replace('<!-- answer -->', () => words).replace('id="gradwire-data">null<', () => `id="gradwire-data">${text}<`);
}

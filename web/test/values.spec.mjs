// What needs no browser: questions in addresses, names of machines, time and bins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { build } from 'esbuild';

async function load(source) {
  const path = new URL(`../src/${source}`, import.meta.url).pathname;
  const { outputFiles } = await build({ entryPoints: [path], bundle: true, format: 'esm', write: false, logLevel: 'error' });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const { toFragment, fromFragment } = await load('whatif/fragment.ts');
const { takeApart, putTogether, baseParts, baseName } = await load('whatif/machine_name.ts');
const { within, zoomed, panned } = await load('timeline/view.ts');
const { levelsOf } = await load('timeline/bins.ts');
const { unstored } = await load('timeline/decode.ts');
const { spanAt, tracksOf } = await load('timeline/track.ts');
const { factsOf } = await load('timeline/describe.ts');
const { layOut } = await load('topology/layout.ts');

test('a question comes back from its address as it was', () => {
  for (const question of [
    { model: 'gpt2', machines: ['2x-rtx3090-nvlink', '4*dgx-h100@ndr'], batch: 8, precision: 'bf16', no_overlap: true, env: { NCCL_ALGO: 'Ring' } },
    { model: { name: 'x & y', family: 'transformer', parameters: 350e6 }, machines: [{ name: 'pasted', matrix: 'GPU0\tGPU1\n X #=&', gpu: 'rtx3090' }], accumulate: 4, bucket_mb: 12.5, compress: 'fp16', step_ms: 1.5 },
  ]) assert.deepEqual(fromFragment(toFragment(question)), question);
});

test('an address of a plain question can be read by people', () => {
  assert.equal(toFragment({ model: 'gpt2', machines: ['2x-rtx3090-nvlink', '2*1x-rtx3090@10gbe'], batch: 4 }), '#model=gpt2&on=2x-rtx3090-nvlink&on=2*1x-rtx3090@10gbe&batch=4');
});

test('an address that holds no question gives none', () => {
  for (const fragment of ['', '#top', '#model=gpt2', '#on=dgx-a100', '#model={&on=x', '#model=gpt2&on=%7B%22']) assert.equal(fromFragment(fragment), null, fragment);
});

test('names of machines are taken apart and put together again', () => {
  for (const name of ['dgx-a100', '4*dgx-h100@ndr', '2*1x-rtx3090@10gbe', '2x-rtx3090-nvlink', '2*dgx-a100@4x-hdr']) assert.equal(putTogether(takeApart(name)), name);
  assert.deepEqual(baseParts('8x-a100-sxm-80-nvswitch', ['a100', 'a100-sxm-80']), { count: 8, gpu: 'a100-sxm-80', link: 'nvswitch' });
  assert.equal(baseParts('dgx-a100', ['a100']), null);
  assert.equal(baseName({ count: 1, gpu: 'rtx3090', link: 'nvlink' }), '1x-rtx3090');
  assert.equal(baseName({ count: 2, gpu: 'rtx3090', link: 'pcie' }), '2x-rtx3090-pcie');
});

test('a view stays within the whole, and zooming keeps what is under the pointer', () => {
  assert.deepEqual(within({ begin: -50, end: 950 }, 2000), { begin: 0, end: 1000 });
  assert.deepEqual(panned({ begin: 1500, end: 1900 }, 1, 2000), { begin: 1600, end: 2000 });
  const near = zoomed({ begin: 0, end: 1e6 }, 0.5, 0.25, 1e6);
  assert.equal(near.begin + 0.25 * (near.end - near.begin), 0.25e6);
  assert.deepEqual(zoomed({ begin: 0, end: 1e6 }, 9, 0.3, 1e6), { begin: 0, end: 1e6 });
});

function spansOf(rows, kinds = ['a', 'b'], lanes = [{ rank: 0, name: 'x' }]) {
  const column = (Column, pick) => Column.from(rows, pick);
  return { source: { name: 't', origin: 'measured', lanes, kinds, names: ['', 'bucket 0'], count: rows.length, columns: {} }, count: rows.length,
    lane: column(Int32Array, (row) => row.lane ?? 0), kind: column(Int32Array, (row) => row.kind ?? 0), name: column(Int32Array, (row) => row.name ?? 0), step: column(Int32Array, () => 0),
    begin: column(Float64Array, (row) => row.begin), duration: column(Int32Array, (row) => row.duration), bytes: column(Float64Array, (row) => row.bytes ?? -1), ready: column(Float64Array, () => -1), waitedFor: null, busbw: null };
}

test('bins of every level hold the same time, and the kind that fills most of each', () => {
  const rows = Array.from({ length: 1000 }, (_, at) => ({ begin: at * 1024, duration: at % 3 === 0 ? 1000 : 200, kind: at % 3 === 0 ? 1 : 0 }));
  const [track] = tracksOf(spansOf(rows));
  const whole = 1024 * 1024, busy = rows.reduce((sum, row) => sum + row.duration, 0);
  const levels = levelsOf(track, whole);
  assert.equal(levels.at(-1).kind.length, 64);
  for (const { width, cover, kind } of levels) {
    const time = cover.reduce((sum, one) => sum + (one / 255) * width, 0);
    assert.ok(Math.abs(time - busy) / busy < 0.02, `${width}: ${time} of ${busy}`);
    if (width >= 16384) assert.ok(kind.slice(0, 16).every((one) => one === 1)); // 1000 of 1400 ns
  }
});

test('deflate that only stores is read as zlib reads it, and any other is left to the browser', () => {
  const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 7) % 251));
  const stored = deflateRawSync(bytes, { level: 0 });
  assert.deepEqual(Buffer.from(unstored(new Uint8Array(stored))), inflateRawSync(stored));
  assert.equal(unstored(new Uint8Array(deflateRawSync(bytes))), null);
  assert.equal(unstored(new Uint8Array(stored.subarray(0, 1000))), null);
  assert.equal(unstored(new Uint8Array(0)), null);
});

test('the innermost span is found, the nearest where there is none, and nothing far from any', () => {
  const [track] = tracksOf(spansOf([{ begin: 0, duration: 1000 }, { begin: 400, duration: 100, kind: 1 }, { begin: 5000, duration: 10 }]));
  assert.equal(spanAt(track, 450, 1), 1);
  assert.equal(spanAt(track, 700, 1), 0);
  assert.equal(spanAt(track, 5020, 20), 2);
  assert.equal(spanAt(track, 3000, 20), -1);
});

test('bus bandwidth is as nccl-tests define it, and the last to come is who was waited for', () => {
  const lanes = [{ rank: 0, name: 'communication' }, { rank: 1, name: 'communication' }];
  const spans = spansOf([{ lane: 0, begin: 0, duration: 2_000_000, bytes: 20e6, name: 1 }, { lane: 1, begin: 500_000, duration: 1_500_000, bytes: 20e6, name: 1 }], ['bucket'], lanes);
  const facts = new Map(factsOf(spans, 0, tracksOf(spans)));
  assert.equal(facts.get('busbw'), '10 GB/s'); // 20 MB in 2 ms, times 2 (n-1) / n
  assert.equal(facts.get('waited for'), 'rank 1, which came 500 µs later');
});

test('every device of a machine gets a place of its own, with parents given or found', () => {
  const nodes = ['cpu', 'root', 'gpu', 'gpu', 'nic', 'memory'].map((kind, at) => ({ id: `${kind}${at}`, kind, name: kind, host: 0 }));
  const link = (a, b, kind = 'pcie') => ({ a, b, kind, gbps: 10, text: '' });
  const links = [link('cpu0', 'root1', 'internal'), link('root1', 'gpu2'), link('gpu3', 'root1'), link('root1', 'nic4'), link('memory5', 'cpu0', 'memory'), link('gpu2', 'gpu3', 'nvlink'), link('gpu3', 'gpu2', 'nvlink')];
  const layout = layOut({ name: 'x', nodes, links }, 600);
  assert.equal(layout.links.length, 6); // a cable once
  const boxes = nodes.map((node) => layout.places.get(node.id));
  assert.ok(boxes.every(Boolean));
  assert.equal(layout.places.get('gpu2').y, layout.places.get('nic4').y);
  assert.ok(layout.places.get('root1').y < layout.places.get('gpu2').y);
  for (const a of boxes) for (const b of boxes) if (a !== b && a.y === b.y) assert.ok(Math.abs(a.x - b.x) >= (a.width + b.width) / 2, `${a.node.id} ${b.node.id}`);
  assert.ok(layOut({ name: 'loop', nodes: [{ id: 'a', kind: 'root', name: 'a', host: 0, parent: 'b' }, { id: 'b', kind: 'root', name: 'b', host: 0, parent: 'a' }], links: [] }, 300));
});

// The predictor in the page against the command: 500 questions, equal digit for digit as printed, and before rounding as
// near as two libraries of mathematics are. Called with the program, page_exact, and web/dist.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inflateRawSync } from 'node:zlib';

const [program, exact, dist, wanted = '500'] = process.argv.slice(2);
const SKIPPED = 77;
const glue = join(dist, 'predictor.js');
const found = readFileSync(join(dist, 'page.html'), 'utf8').match(/<script type="application\/octet-stream" id="gradwire-wasm"([^>]*)>([^<]*)</);
if (!existsSync(glue) || !found) {
  console.log('SKIPPED: the built page has no predictor: run tools/build_page');
  process.exit(SKIPPED);
}
const packed = Buffer.from(found[2], 'base64');
const wasmBinary = found[1].includes('deflate-raw') ? inflateRawSync(packed) : packed;
const { default: createPredictor } = await import(pathToFileURL(glue).href);
const predictor = await createPredictor({ wasmBinary });
const ask = (name, question) => JSON.parse(predictor.ccall(name, 'string', ['string'], [JSON.stringify(question)]));

// Mulberry32: the same questions every time.
let state = 12;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const pick = (list) => list[Math.floor(random() * list.length)];
const maybe = (share, value) => (random() < share ? value() : undefined);

const catalog = JSON.parse(predictor.ccall('gradwire_catalog', 'string', [], []));
const names = (list) => list.map((one) => one.id);
const folder = mkdtempSync(join(tmpdir(), 'gradwire-digits-'));
const matrix = join(folder, 'box.txt'), model = join(folder, 'mine.yaml');
const matrixText = '\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tNV4\tPHB\tSYS\nGPU1\tNV4\t X \tSYS\tPHB\nGPU2\tPHB\tSYS\t X \tNV4\nGPU3\tSYS\tPHB\tNV4\t X \n';
writeFileSync(matrix, matrixText);
const described = { name: 'mine', family: 'transformer', parameters: '350e6', batch: 4 };
writeFileSync(model, 'name: mine\nfamily: transformer\nparameters: 350e6\nbatch: 4\n');

function machine() {
  const kind = random();
  if (kind < 0.1) return { name: `${matrix}:${pick(['rtx3090', 'a6000'])}`, matrix: matrixText };
  const box = kind < 0.6 ? pick(names(catalog.machines)) : `${pick([1, 2, 4, 8])}x-${pick(names(catalog.gpus))}-${pick(['nvlink', 'pcie', 'pcie-sys', 'pcie-pix'])}`;
  return random() < 0.25 ? `${pick([2, 3, 4, 16])}*${box}@${pick(names(catalog.networks))}` : box;
}

function question() {
  const asked = { model: random() < 0.1 ? described : pick(names(catalog.models)), machines: [machine()] };
  while (random() < 0.6 && asked.machines.length < 4) asked.machines.push(machine());
  const flags = {
    batch: maybe(0.6, () => pick([1, 2, 3, 8, 16, 31, 64, 256])),
    accumulate: maybe(0.3, () => pick([2, 4, 7, 32])),
    precision: maybe(0.5, () => pick(catalog.precisions)),
    bucket_mb: maybe(0.3, () => pick([1, 12.5, 50, 100, 1000])),
    compress: maybe(0.3, () => pick(catalog.compressions)),
    step_ms: maybe(0.2, () => Math.round(random() * 1e6) / 1e3 + 1),
    gradients: maybe(0.2, () => pick(['fp16', 'bf16'])),
    no_overlap: maybe(0.15, () => true),
    optimizer: maybe(0.2, () => pick(['sgd', 'adam', 'lamb'])),
    data_ms: maybe(0.1, () => pick([0.5, 20])),
    distribution: maybe(0.1, () => pick(['horovod', 'tf-replicated', 'dataparallel'])),
    backend: maybe(0.05, () => pick(['gloo', 'mpi', 'tcp', 'shm', 'shm+tcp'])),
    env: maybe(0.1, () => pick([{ NCCL_P2P_DISABLE: '1' }, { NCCL_ALGO: 'Tree' }, { NCCL_PROTO: 'LL' }])),
    sweep: maybe(0.15, () => pick(['batch=8,32,128', 'link=1..64', 'gpus=1..16'])),
  };
  for (const [name, value] of Object.entries(flags)) if (value !== undefined) asked[name] = value;
  return asked;
}

function words(asked) {
  const all = ['compare', typeof asked.model === 'string' ? asked.model : model, '--json'];
  for (const one of asked.machines) all.push('--on', one.name ?? one);
  for (const [name, value] of Object.entries(asked)) {
    if (['model', 'machines', 'env'].includes(name)) continue;
    all.push(`--${name.replaceAll('_', '-')}`);
    if (value !== true) all.push(String(value));
  }
  return all;
}

const plainEnvironment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('NCCL_')));
const exactAnswers = spawn(exact, { stdio: ['pipe', 'pipe', 'inherit'] });
const questions = Array.from({ length: Number(wanted) }, question);
exactAnswers.stdin.end(questions.map((asked) => JSON.stringify(asked) + '\n').join(''));
let exactText = '';
exactAnswers.stdout.on('data', (piece) => (exactText += piece));
const exactDone = new Promise((resolve) => exactAnswers.on('close', resolve));

// The largest relative difference of two numbers at the same place.
function apart(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
  if (a === null || typeof a !== 'object') return a === b ? 0 : Infinity;
  return Math.max(0, ...Object.keys(a).map((key) => apart(a[key], b[key])));
}

let answered = 0, refused = 0, numbers = 0;
const count = (value) => (typeof value === 'number' ? 1 : value && typeof value === 'object' ? Object.values(value).reduce((sum, one) => sum + count(one), 0) : 0);
const withoutFolder = (text) => text.replaceAll(folder + '/', '');
try {
  for (const asked of questions) {
    const said = spawnSync(program, words(asked), { encoding: 'utf8', env: { ...plainEnvironment, ...asked.env }, timeout: 60_000 });
    const answer = ask('gradwire_answer', asked);
    const about = JSON.stringify(asked);
    if (said.status !== 0) {
      assert.ok(answer.error, `the command refuses, the page answers: ${about}\n${said.stderr}`);
      assert.equal(`gradwire compare: ${answer.error}\n`.replaceAll('mine.yaml', 'M'), said.stderr.replaceAll(model, 'M'), about);
      refused++;
      continue;
    }
    assert.ok(answer.page, `${answer.error}: ${about}`);
    const printed = JSON.parse(said.stdout);
    if (typeof asked.model !== 'string') printed.model = answer.page.data.model; // the file's name stands for it
    assert.equal(JSON.stringify(answer.page.data, null, 1), JSON.stringify(printed, null, 1), about);
    numbers += count(printed);
    answered++;
  }
  await exactDone;
  const exactLines = exactText.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(exactLines.length, questions.length);
  let most = 0;
  questions.forEach((asked, i) => {
    const here = ask('gradwire_exact', asked);
    most = Math.max(most, apart(exactLines[i], here));
  });
  console.log(`${answered} questions answered with ${numbers} equal numbers, ${refused} refused in equal words; before rounding ${most.toExponential(1)} apart at most`);
  assert.ok(most <= 1e-9, `two programs differ by ${most} before rounding`);
  assert.ok(answered >= 0.7 * questions.length, 'most questions have answers');
} finally {
  rmSync(folder, { recursive: true });
}

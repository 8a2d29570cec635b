// The what-if with the real predictor inside the page: every knob changes the answer, and an answer travels as a link.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch, open, pagesOnPaper, violations } from './browser.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
const template = readFileSync(here('../dist/page.html'), 'utf8');
const hasPredictor = template.includes('id="gradwire-wasm"');
const skip = hasPredictor ? false : 'web/dist/page.html holds no predictor: run tools/build_page';
const question = '#model=gpt2&on=2x-rtx3090-nvlink&on=2x-rtx3090-pcie';
let browser;

async function opened(hash = question, options = {}) {
  mkdirSync(here('out'), { recursive: true });
  writeFileSync(here('out/whatif.html'), template);
  const result = await open(browser, here('out/whatif.html'), { hash, ...options });
  await result.page.waitForSelector('.panel');
  await result.page.waitForSelector('.answer .sentence');
  return result;
}

const answerOf = (page) => page.locator('.answer').innerText();
const stepsOf = (page) => page.locator('.steps').innerText();

before(async () => {
  browser = await launch();
});
after(() => browser.close());

test('every knob changes what is shown, and every change is in the address', { skip }, async () => {
  const { page, problems, close } = await opened();
  const panel = page.locator('.panel');
  const training = (label) => panel.getByLabel(label, { exact: true });
  const machine = (at) => panel.locator('.machine-field').nth(at);
  const changes = [
    ['batch', () => training('Batch a GPU').fill('16'), /batch=16/],
    ['batch doubled', () => panel.getByRole('button', { name: 'Batch a GPU ×2' }).click(), /batch=32/],
    ['accumulation', () => training('Accumulation').fill('4'), /accumulate=4/],
    ['sequence', () => training('Tokens a sample').fill('512'), /sequence=512/],
    ['precision', () => training('Precision').selectOption('bf16'), /precision=bf16/],
    ['bucket', () => training('Bucket, MB').fill('5'), /bucket_mb=5/],
    ['compression', () => training('Compression').selectOption('fp16'), /compress=fp16/],
    ['measured step', () => training('Step on 1 GPU, ms').fill('180'), /step_ms=180/],
    ['model', () => training('Model').selectOption('resnet50'), /model=resnet50/],
    ['GPU', () => machine(0).getByLabel('GPU', { exact: true }).selectOption('a6000'), /on=2x-a6000-nvlink/],
    ['GPUs', () => machine(0).getByLabel('GPUs', { exact: true }).fill('4'), /on=4x-a6000-nvlink/],
    ['link', () => machine(0).getByLabel('Link', { exact: true }).selectOption('pcie'), /on=4x-a6000-pcie/],
    ['hosts', () => machine(1).getByLabel('Hosts', { exact: true }).fill('2'), /on=2\*2x-rtx3090-pcie@10gbe/],
    ['network', () => machine(1).getByLabel('Network', { exact: true }).selectOption('ndr'), /on=2\*2x-rtx3090-pcie@ndr/],
    ['preset', () => machine(0).getByLabel('Name of machine 1').fill('dgx-a100'), /on=dgx-a100/],
    ['another machine', () => panel.getByRole('button', { name: 'Add machine' }).click(), /on=[^&]*&on=[^&]*&on=/],
    ['one less', () => panel.getByRole('button', { name: 'Remove machine 3' }).click(), /on=dgx-a100&on=2\*2x-rtx3090-pcie@ndr&/],
  ];
  let last = await stepsOf(page);
  for (const [name, change, address] of changes) {
    await change();
    assert.equal(await page.locator('.panel .failure').isVisible(), false, `${name}: ${await page.locator('.panel .failure').innerText().catch(() => '')}`);
    const now = await stepsOf(page);
    assert.notEqual(now, last, name);
    await page.waitForFunction((wanted) => new RegExp(wanted).test(decodeURIComponent(location.hash)), address.source);
    last = now;
  }
  assert.deepEqual(problems, []);
  await close();
});

test('a model by size and family, as somebody asks: is a bridge worth it for 350 M on two 3090', { skip }, async () => {
  const { page, problems, close } = await opened();
  await page.getByLabel('Model', { exact: true }).selectOption({ label: 'By size and family …' });
  await page.getByLabel('Million parameters').fill('350');
  assert.match(await answerOf(page), /transformer-350M/);
  await page.waitForFunction(() => location.hash.includes('350'));
  const link = await page.evaluate(() => location.href);
  const there = await open(browser, link.replace(/^file:\/\//, ''));
  await there.page.waitForSelector('.panel');
  assert.equal(await answerOf(there.page), await answerOf(page));
  assert.deepEqual([...problems, ...there.problems], []);
  await there.close();
  await close();
});

test('a pasted matrix and pasted YAML are taken, and what is neither is refused in one line', { skip }, async () => {
  const { page, close } = await opened();
  const paste = async (text, gpu) => {
    await page.getByRole('button', { name: 'Paste machine' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill(text);
    if (gpu) await page.getByRole('dialog').getByRole('combobox').selectOption(gpu);
    await page.getByRole('button', { name: 'Use it' }).click();
  };
  await paste('\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-15\nGPU1\tNV4\t X \t0-15\n', 'rtx3090');
  assert.equal(await page.locator('.steps .bar').count(), 3);
  await paste('id: basement\ngpu: rtx3090\ngpus: 2\nintra: pcie\n');
  assert.equal(await page.locator('.steps .bar').count(), 4);
  assert.equal(await page.locator('.panel .failure').isVisible(), false);
  await paste('just words');
  assert.match(await page.getByRole('dialog').locator('.failure').innerText(), /no YAML/);
  await close();
});

test('a name that is none is answered by one clear line, and the last answer stays', { skip }, async () => {
  const { page, problems, close } = await opened();
  const before = await answerOf(page);
  const name = page.getByLabel('Name of machine 1');
  await name.fill('2x-rtx9999-nvlink');
  await name.blur();
  assert.match(await page.locator('.panel .failure').innerText(), /9999/);
  assert.equal(await answerOf(page), before);
  assert.equal(await page.locator('.main.stale').count(), 1, 'the last answer is pale');
  await name.fill('2x-rtx4090-pcie');
  await name.blur();
  assert.equal(await page.locator('.main.stale').count(), 0);
  assert.deepEqual(problems, []);
  await close();
});

test('a number that can not be is refused in one line, and the last answer is pale', { skip }, async () => {
  const { page, problems, close } = await opened();
  for (const wrong of ['0', '-4', '2.5']) {
    await page.getByLabel('Batch a GPU', { exact: true }).fill(wrong);
    assert.match(await page.locator('.panel .failure').innerText(), /Batch a GPU: a whole number from 1/);
    assert.equal(await page.locator('.main.stale').count(), 1);
  }
  await page.getByLabel('Batch a GPU', { exact: true }).fill('8');
  assert.equal(await page.locator('.main.stale').count(), 0);
  assert.deepEqual(problems, []);
  await close();
});

test('a link that was cut off says so instead of answering another question', { skip }, async () => {
  const { page, problems, close } = await opened('#model=%7B%22family%22%3A%22transfo');
  assert.match(await page.locator('.panel .failure').innerText(), /link can't be read/);
  assert.equal(await page.locator('.main.stale').count(), 1);
  assert.deepEqual(problems, []);
  await close();
});

test('the command is copied, and so is the link', { skip }, async () => {
  const { page, close } = await opened(question, { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  const clipboard = async (button) => {
    await page.locator('.panel').getByRole('button', { name: button }).click();
    await page.waitForSelector('.toast.shown, dialog.offer');
    const shown = page.locator('dialog.offer textarea');
    if ((await shown.count()) === 0) return page.evaluate(() => navigator.clipboard.readText());
    const value = await shown.inputValue();
    await page.keyboard.press('Escape');
    return value;
  };
  assert.equal(await clipboard('Copy command'), 'gradwire compare gpt2 --on 2x-rtx3090-nvlink --on 2x-rtx3090-pcie');
  assert.match(await clipboard('Copy link'), /#model=gpt2&on=2x-rtx3090-nvlink&on=2x-rtx3090-pcie$/);
  await close();
});

test('a command for a model without a name brings the file that it names', { skip }, async () => {
  const model = { name: 'transformer-350M', family: 'transformer', sample: 'sequence', sequence: 1024, batch: 4, parameters: 350000000 };
  const { page, close } = await opened(question.replace('gpt2', encodeURIComponent(JSON.stringify(model))), { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  await page.locator('.panel').getByRole('button', { name: 'Copy command' }).click();
  await page.waitForSelector('.toast.shown, dialog.offer');
  const shown = page.locator('dialog.offer textarea');
  const text = (await shown.count()) === 0 ? await page.evaluate(() => navigator.clipboard.readText()) : await shown.inputValue();
  assert.match(text, /^cat > transformer-350M.yaml <<'END'\n\{[^]*"parameters": 350000000\n\}\nEND\ngradwire compare transformer-350M.yaml --on /);
  await close();
});

test('axe finds nothing serious in the panel, it prints on two pages, and a telephone is wide enough', { skip }, async () => {
  for (const options of [{ dark: true }, { width: 390 }]) {
    const { page, problems, close } = await opened(question, options);
    await page.waitForSelector('.curves-section .plot');
    assert.deepEqual(await violations(page), []);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= (options.width ?? 1280));
    if (!options.width) assert.ok((await pagesOnPaper(page)) <= 2);
    assert.deepEqual(problems, []);
    await close();
  }
});

test('curves over batch and over link rate follow the answer', { skip }, async () => {
  const { page, close } = await opened();
  await page.waitForSelector('.curves-section .plot');
  assert.equal(await page.locator('.curves-section figure').count(), 2);
  await close();
});

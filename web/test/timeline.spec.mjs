// The timeline, driven as people drive it.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch, open } from './browser.mjs';
import { analyzePage, comparePage, fill, trainPage } from './samples/make.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
const template = readFileSync(here('../dist/page.html'), 'utf8');
let browser;

async function opened(name, data, options = {}) {
  mkdirSync(here('out'), { recursive: true });
  writeFileSync(here(`out/${name}.html`), fill(template, data));
  const result = await open(browser, here(`out/${name}.html`), options);
  await result.page.waitForFunction(() => performance.getEntriesByName('gradwire-timeline').length > 0);
  return result;
}

// What a reader sees: the picture itself. Two frames, so that what was asked for is painted.
const picture = async (page) => {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page.locator('.lanes').evaluate((canvas) => canvas.toDataURL());
};
const selection = (page) => page.locator('.selection').innerText();

before(async () => {
  browser = await launch();
});
after(() => browser.close());

test('keys zoom and pan, 0 shows all again', async () => {
  const { page, problems, close } = await opened('keys', comparePage());
  const whole = await picture(page);
  await page.locator('.scroller').focus();
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  const near = await picture(page);
  assert.notEqual(near, whole);
  await page.keyboard.press('d');
  const right = await picture(page);
  assert.notEqual(right, near);
  await page.keyboard.press('ArrowLeft');
  assert.notEqual(await picture(page), right);
  await page.keyboard.press('0');
  assert.equal(await picture(page), whole);
  assert.deepEqual(problems, []);
  await close();
});

test('Ctrl and wheel zooms, dragging pans, the minimap moves', async () => {
  const { page, close } = await opened('mouse', comparePage());
  await page.locator('.scroller').scrollIntoViewIfNeeded();
  const box = await page.locator('.lanes').boundingBox();
  const whole = await picture(page);
  await page.mouse.move(box.x + 500, box.y + 60);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -400);
  await page.keyboard.up('Control');
  const near = await picture(page);
  assert.notEqual(near, whole);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 60, { steps: 4 });
  await page.mouse.up();
  const dragged = await picture(page);
  assert.notEqual(dragged, near);
  const map = await page.locator('.minimap').boundingBox();
  await page.mouse.click(map.x + map.width - 30, map.y + 10);
  assert.notEqual(await picture(page), dragged);
  await close();
});

test('hovering a bucket tells name, bytes and bus bandwidth', async () => {
  const { page, close } = await opened('hover', comparePage());
  await page.getByLabel('Which timelines').selectOption({ label: 'Only 2*1x-rtx3090@10gbe' });
  await page.locator('.scroller').scrollIntoViewIfNeeded();
  const box = await page.locator('.lanes').boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 24 + 30);
  const tip = await page.locator('.tip').innerText();
  assert.match(tip, /bucket \d+/);
  assert.match(tip, /25 MiB/);
  assert.match(tip, /busbw\s+1\.08 GB\/s/); // 26,214,400 bytes in 460.5 / 19 ms on two ranks
  await close();
});

test('a collective says for whom it waited', async () => {
  const { page, close } = await opened('waited', trainPage());
  await page.getByLabel('Search spans by name').fill('bucket 0');
  await page.keyboard.press('Enter');
  assert.match(await selection(page), /waited for\s+rank 1/);
  await close();
});

test('search counts, goes from match to match, and clears', async () => {
  const { page, close } = await opened('search', comparePage());
  const search = page.getByLabel('Search spans by name');
  await search.fill('bucket 3');
  assert.match(await page.locator('.toolbar output').innerText(), /^6 spans/);
  await search.press('Enter');
  const first = await selection(page);
  assert.match(first, /bucket 3/);
  await search.press('Enter');
  assert.notEqual(await selection(page), first);
  await search.fill('no such span');
  assert.match(await page.locator('.toolbar output').innerText(), /^0 spans/);
  await search.fill('optimizer'); // spans without a name of their own go by their kind
  assert.match(await page.locator('.toolbar output').innerText(), /^6 spans/);
  await close();
});

test('the keyboard alone reaches every span of a lane', async () => {
  const { page, close } = await opened('alone', comparePage());
  await page.locator('.scroller').focus();
  await page.keyboard.press('.');
  assert.match(await selection(page), /forward/);
  await page.keyboard.press('.');
  assert.match(await selection(page), /backward/);
  await page.keyboard.press('f');
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('type')), 'search');
  await close();
});

test('a predicted step is laid over the measured one that is chosen', async () => {
  const { page, problems, close } = await opened('over', trainPage());
  const below = await picture(page);
  await page.getByLabel('Which timelines').selectOption({ label: 'this run laid over as predicted' });
  const first = await picture(page);
  assert.notEqual(first, below);
  await page.getByLabel('Step', { exact: true }).selectOption('step 7');
  assert.notEqual(await picture(page), first);
  assert.deepEqual(problems, []);
  await close();
});

test('160,000 spans are drawn from bins and each can still be found', async () => {
  const { page, problems, close } = await opened('large', analyzePage());
  await page.getByLabel('Search spans by name').fill('AllReduce');
  assert.match(await page.locator('.toolbar output').innerText(), /^3,200 spans/);
  await page.keyboard.press('Enter');
  assert.match(await selection(page), /ncclDevKernel_AllReduce/);
  assert.deepEqual(problems, []);
  await close();
});

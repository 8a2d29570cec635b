// node test/bench.mjs [FILE.html ...]: how soon a page is there and how smoothly it moves, by Chromium's own performance API.
// Without files: the samples, among them the large one: 8 ranks x 50 steps, 160,000 spans, and one ten times as large.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { launch, open } from './browser.mjs';
import { analyzePage, comparePage, fill } from './samples/make.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const ninety = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.9)];
const rounds = Number(process.env.ROUNDS ?? 5);

// Processor time of the page's thread, which tells more than the clock on a machine that is busy with other things.
async function processorOf(page) {
  const debug = await page.context().newCDPSession(page);
  await debug.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async (name) => (await debug.send('Performance.getMetrics')).metrics.find((metric) => metric.name === name).value * 1e3;
}

async function timesOf(browser, file) {
  let processor;
  const { page, close } = await open(browser, file, { prepare: async (fresh) => (processor = await processorOf(fresh)) });
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
  const hasTimeline = (await page.locator('.timeline').count()) > 0;
  if (hasTimeline) await page.waitForFunction(() => performance.getEntriesByName('gradwire-timeline').length > 0);
  const times = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    shown: performance.getEntriesByName('gradwire-shown')[0].startTime,
    interactive: Math.max(...performance.getEntriesByType('mark').filter((mark) => mark.name !== 'gradwire-what-if').map((mark) => mark.startTime)),
  }));
  times.processor = await processor('TaskDuration');
  await close();
  return times;
}

// Frames while a key pans and zooms, as the browser delivers them, and how long this page's own work on each took.
async function frames(browser, file) {
  const { page, close } = await open(browser, file);
  await page.waitForFunction(() => performance.getEntriesByName('gradwire-timeline').length > 0);
  await page.evaluate(() => {
    const own = requestAnimationFrame.bind(window);
    window.work = [];
    window.requestAnimationFrame = (run) => own((now) => {
      const began = performance.now();
      run(now);
      window.work.push(performance.now() - began);
    });
  });
  await page.locator('.scroller').focus();
  await page.keyboard.down('w');
  await page.waitForTimeout(700);
  await page.keyboard.up('w');
  await page.keyboard.down('d');
  const gaps = await page.evaluate(() => new Promise((done) => {
    const gaps = [];
    let last = performance.now();
    const turn = (now) => {
      gaps.push(now - last);
      last = now;
      if (gaps.length < 120) requestAnimationFrame(turn);
      else done(gaps.slice(5));
    };
    requestAnimationFrame(turn);
  }));
  await page.keyboard.up('d');
  const work = await page.evaluate(() => window.work.filter((took) => took > 0.15));
  await close();
  return { gaps, work };
}

async function whatIf(browser, file) {
  const { page, close } = await open(browser, file);
  await page.waitForSelector('.panel');
  const batch = page.getByLabel('Batch a GPU', { exact: true });
  const metric = await processorOf(page), processor = () => metric('ScriptDuration');
  const cpu = [];
  for (let value = 1; value <= 40; value++) {
    const before = await processor();
    await batch.fill(String(value));
    cpu.push((await processor()) - before);
  }
  const named = (name) => page.evaluate((wanted) => performance.getEntriesByName(wanted).map((entry) => entry.duration), name);
  const took = await named('gradwire-what-if'), asked = await named('gradwire-predictor');
  await close();
  return { took, asked, cpu };
}

mkdirSync(here('out'), { recursive: true });
const template = readFileSync(here('../dist/page.html'), 'utf8');
const write = (name, data) => (writeFileSync(here(`out/${name}.html`), fill(template, data)), here(`out/${name}.html`));
const files = process.argv.length > 2 ? process.argv.slice(2) : [write('bench-compare', comparePage()), write('bench-large', analyzePage()), write('bench-huge', analyzePage({ kernels: 4000 }))];
const browser = await launch();
for (const file of files) {
  const times = [];
  for (let round = 0; round < rounds; round++) times.push(await timesOf(browser, file));
  const of = (name) => Math.round(median(times.map((one) => one[name])));
  console.log(`${file.split('/').pop()}, ${(statSync(file).size / 1e6).toFixed(2)} MB: first paint ${of('paint')} ms, interactive ${of('interactive')} ms, ${of('processor')} ms of processor time (medians of ${rounds})`);
  const source = readFileSync(file, 'utf8');
  if (!source.includes('"timelines":[]')) {
    const { gaps, work } = await frames(browser, file);
    console.log(`  panning: a frame every ${median(gaps).toFixed(1)} ms (90 %: ${ninety(gaps).toFixed(1)} ms); drawing one takes ${median(work).toFixed(2)} ms (90 %: ${ninety(work).toFixed(2)} ms)`);
  }
  if (source.includes('id="gradwire-wasm"') && source.includes('"question":{')) {
    const { took, asked, cpu } = await whatIf(browser, file);
    console.log(`  what-if: ${median(took).toFixed(1)} ms from the change to the page, ${median(asked).toFixed(1)} ms of it the predictor (medians of ${took.length}; `
      + `least ${Math.min(...took).toFixed(1)} ms, 90 %: ${ninety(took).toFixed(1)} ms); ${median(cpu).toFixed(1)} ms of processor time`);
  }
}
await browser.close();

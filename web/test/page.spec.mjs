// The page in a browser, as people open it: from a file.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { launch, open, pagesOnPaper, violations } from './browser.mjs';
import { fill, samples } from './samples/make.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
const template = readFileSync(here('../dist/page.html'), 'utf8');
const small = { analyze: { ranks: 8, steps: 6, kernels: 100 } };
let browser;

function write(name) {
  mkdirSync(here('out'), { recursive: true });
  writeFileSync(here(`out/${name}.html`), fill(template, samples[name](small[name])));
  return here(`out/${name}.html`);
}

async function opened(name, options = {}) {
  const result = await open(browser, write(name), options);
  if ((await result.page.locator('.timeline').count()) > 0)
    await result.page.waitForFunction(() => performance.getEntriesByName('gradwire-timeline').length > 0);
  return result;
}

before(async () => {
  browser = await launch();
});
after(() => browser.close());

describe('every page', () => {
  for (const name of Object.keys(samples))
    test(`${name}: renders without a console error or a request, light and dark, and axe finds nothing serious`, async () => {
      for (const dark of [false, true]) {
        const { page, problems, close } = await opened(name, { dark });
        assert.ok((await page.locator('.section').count()) >= 2);
        assert.deepEqual(await violations(page), []);
        assert.deepEqual(problems, []);
        await close();
      }
    });

  test('is as wide as a telephone and no wider', async () => {
    for (const name of Object.keys(samples)) {
      const { page, close } = await opened(name, { width: 390 });
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, name);
      await close();
    }
  });

  test('prints on two pages of A4', async () => {
    for (const name of ['compare', 'train', 'analyze', 'doctor', 'bench', 'topo']) {
      const { page, close } = await opened(name);
      assert.ok((await pagesOnPaper(page)) <= 2, name);
      await close();
    }
  });
});

describe('what came from elsewhere', () => {
  test('stays text: names that are markup make no element and run nothing', async () => {
    const { page, problems, close } = await opened('hostile');
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator('#page img, #page script, #page iframe').count(), 0);
    assert.match(await page.locator('.answer').innerText(), /<img src=x onerror/);
    assert.deepEqual(problems, []);
    await close();
  });

  test('the policy runs no script that is not the page’s own', async () => {
    const { page, close } = await opened('doctor');
    await page.evaluate(() => document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' })));
    await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<img src="data:image/png;base64,AA" onerror="window.ran = 2">'));
    await page.waitForTimeout(50);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    await close();
  });

  test('a page without data, or with data of another form, says so', async () => {
    for (const [data, words] of [[null, /holds no answer|What if/], [{ schema: 7 }, /form 7/]]) {
      writeFileSync(here('out/odd.html'), fill(template, data));
      const { page, close } = await open(browser, here('out/odd.html'));
      assert.match(await page.locator('body').innerText(), words);
      await close();
    }
  });

  test('a timeline with a column cut short says which, and the rest of the page stands', async () => {
    const data = samples.compare();
    data.timelines[0].count += 1;
    writeFileSync(here('out/odd.html'), fill(template, data));
    const { page, close } = await open(browser, here('out/odd.html'));
    await page.waitForSelector('.timeline .failure:not([hidden])');
    assert.match(await page.locator('.timeline .failure').innerText(), /column lane/);
    assert.match(await page.locator('.answer').innerText(), /2\.40x/);
    await close();
  });
});

describe('the answer', () => {
  test('of a comparison has figure, range and sentence, and says nothing twice', async () => {
    const { page, close } = await opened('compare');
    const text = await page.locator('#main').innerText();
    assert.match(text, /2\.40x/);
    assert.match(await page.locator('.range').getAttribute('aria-label'), /range 1\.74x to 3\.82x/);
    assert.equal(text.split('a step sends 498 MB of gradients').length, 2);
    assert.equal(text.split('Where the answer turns').length, 2);
    assert.equal(await page.locator('.steps .bar').count(), 3);
    assert.equal(await page.locator('.machine').count(), 3);
    await close();
  });

  test('of a doctor comes with evidence, cost and what mends it', async () => {
    const { page, close } = await opened('doctor');
    const finding = await page.locator('.finding').first().innerText();
    for (const words of ['run.txt:24', '41.3 ms a step', 'nvidia-smi topo -m']) assert.ok(finding.includes(words), words);
    assert.equal((await page.locator('#main').innerText()).split('41.3 ms a step').length, 3); // in the answer and with its finding
    await close();
  });
});

describe('light and dark', () => {
  test('follow the system until the button is pressed', async () => {
    const { page, close } = await opened('compare', { dark: true });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await ground(), 'rgb(16, 20, 24)');
    await page.getByRole('button', { name: 'Light' }).click();
    assert.equal(await ground(), 'rgb(246, 247, 248)');
    await close();
  });
});

// The pictures in docs/pages show the page as it is.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { launch } from './browser.mjs';
import { file, madeFrom, shown } from './screenshots.mjs';

const folder = new URL('../../docs/pages/', import.meta.url).pathname;
const skip = readFileSync(file, 'utf8').includes('id="gradwire-wasm"') ? false : 'web/dist/page.html holds no predictor: run tools/build_page';

test('the pictures are of this page: if not, run tools/screenshots', { skip }, async () => {
  assert.ok(existsSync(`${folder}made_from.json`), 'there are none');
  const browser = await launch();
  const { page } = await shown(browser, { width: 1280, height: 960 });
  const now = await madeFrom(page);
  await browser.close();
  assert.deepEqual(JSON.parse(readFileSync(`${folder}made_from.json`, 'utf8')), now);
  const pictures = readdirSync(folder).filter((name) => name.endsWith('.png'));
  assert.equal(pictures.length, 6);
  for (const name of pictures) assert.ok(statSync(folder + name).size < 300_000, `${name} is large`);
});

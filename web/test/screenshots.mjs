// node test/screenshots.mjs FOLDER: the page as README and docs show it. The predictor inside answers a question, so the
// pictures need no command. Beside them stands what they were made from: screenshots.spec.mjs compares it with the page, and
// tests/page/pages.py the sentence with the command's, without a browser.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { launch, open } from './browser.mjs';

const here = (path) => new URL(path, import.meta.url).pathname;
export const question = '#model=gpt2&on=2x-rtx3090-nvlink&on=2x-rtx3090-pcie';
export const file = here('../dist/page.html');

const hash = (text) => createHash('sha256').update(text).digest('hex');
const filesBelow = (folder) => readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  .flatMap((entry) => (entry.isDirectory() ? filesBelow(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]));

export async function shown(browser, options) {
  const result = await open(browser, file, { hash: question, ...options });
  await result.page.waitForSelector('.panel');
  await result.page.waitForFunction(() => performance.getEntriesByName('gradwire-timeline').length > 0);
  return result;
}

// How the page looks is decided by its sources, and what it says by the predictor.
export async function madeFrom(page) {
  const sources = hash(filesBelow(here('../src')).map((path) => readFileSync(path, 'utf8')).join('\0'));
  const says = hash(await page.locator('.slot-answer, .slot-sections .steps').allInnerTexts().then((all) => all.join('\n')));
  const sentence = await page.locator('.slot-answer .sentence').first().innerText();
  return { question, sources, says, sentence };
}

const sizes = [{ width: 1280, height: 960 }, { width: 768, height: 1024 }, { width: 390, height: 844 }];

async function takeAll(folder) {
  const browser = await launch();
  for (const size of sizes)
    for (const dark of [false, true]) {
      const { page, problems, close } = await shown(browser, { ...size, dark });
      await page.waitForSelector('.curves-section');
      if (problems.length > 0) throw new Error(problems.join('\n'));
      const name = `whatif-${size.width}${dark ? '-dark' : ''}.png`;
      writeFileSync(`${folder}/${name}`, await page.screenshot());
      if (size.width === 1280 && !dark) writeFileSync(`${folder}/made_from.json`, `${JSON.stringify(await madeFrom(page), null, 2)}\n`);
      console.log(name);
      await close();
    }
  await browser.close();
}

if (process.argv[1] === here('screenshots.mjs')) await takeAll(process.argv[2]);

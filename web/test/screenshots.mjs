// node test/screenshots.mjs PAGE.html FOLDER: what tools/screenshots keeps. Small: a palette of colours is enough.
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { launch, open } from './browser.mjs';

const [file, folder] = process.argv.slice(2);
const browser = await launch();
for (const { width, height, dark } of [
  { width: 1280, height: 960, dark: false }, { width: 1280, height: 960, dark: true }, { width: 768, height: 1024, dark: false },
  { width: 768, height: 1024, dark: true }, { width: 390, height: 844, dark: false }, { width: 390, height: 844, dark: true }]) {
  const { page, problems, close } = await open(browser, file, { width, height, dark });
  if ((await page.locator('.timeline').count()) > 0) await page.waitForFunction(() => performance.getEntriesByName('gradwire-timeline').length > 0);
  if (await page.evaluate(() => document.getElementById('gradwire-wasm') !== null)) await page.waitForSelector('.panel');
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const name = `${basename(file, '.html')}-${width}${dark ? '-dark' : ''}.png`;
  writeFileSync(`${folder}/${name}`, await page.screenshot());
  console.log(name);
  await close();
}
await browser.close();

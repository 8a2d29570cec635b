// node test/look.mjs: every sample at three widths, light and dark, into test/out, to be looked at.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { launch, open } from './browser.mjs';
import { fill, samples } from './samples/make.mjs';

const only = process.argv.slice(2);
const here = (path) => new URL(path, import.meta.url).pathname;
mkdirSync(here('out'), { recursive: true });
const template = readFileSync(here('../dist/page.html'), 'utf8');
const browser = await launch();
for (const [name, make] of Object.entries(samples)) {
  if (only.length > 0 && !only.includes(name)) continue;
  writeFileSync(here(`out/${name}.html`), fill(template, make()));
  for (const width of [1280, 768, 390])
    for (const dark of width === 768 ? [false] : [false, true]) {
      const { page, problems, close } = await open(browser, here(`out/${name}.html`), { width, dark });
      await page.waitForTimeout(300);
      await page.screenshot({ path: here(`out/${name}-${width}${dark ? '-dark' : ''}.png`), fullPage: true });
      if (problems.length) console.log(name, width, problems);
      await close();
    }
}
await browser.close();

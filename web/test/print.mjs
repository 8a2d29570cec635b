// node test/print.mjs FILE.html OUT.pdf: the page on paper.
import { launch, open } from './browser.mjs';

const [file, out] = process.argv.slice(2);
const browser = await launch();
const { page } = await open(browser, file);
await page.waitForTimeout(400);
await page.pdf({ path: out, preferCSSPageSize: true, printBackground: true });
await browser.close();

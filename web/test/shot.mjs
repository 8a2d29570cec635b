// node test/shot.mjs FILE.html OUT.png [width] [dark]: one picture of a page.
import { launch, open } from './browser.mjs';

const [file, out, width = '1280', dark] = process.argv.slice(2);
const browser = await launch();
const { page, problems } = await open(browser, file, { width: Number(width), dark: dark === 'dark' });
await page.waitForTimeout(400);
await page.screenshot({ path: out, fullPage: true });
if (problems.length > 0) console.log(problems);
await browser.close();

// Debian's Chromium, and pages in it that keep count of what must not happen.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function launch() {
  const executablePath = places.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error('no Chromium: run tools/setup page');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'] });
}

// What axe calls serious or critical. The debugger runs it in the page, which the page's policy does not bind.
export async function violations(page) {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join(' | ')}`);
}

export async function pagesOnPaper(page) {
  const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
  return pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length;
}

export async function open(browser, file, { width = 1280, height = 900, dark = false, hash = '', context: options = {}, prepare = async () => {} } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => /^(file|data|blob|about):/.test(request.url()) || problems.push(`asked for ${request.url()}`));
  await prepare(page);
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector('.section, .failure');
  return { page, problems, close: () => context.close() };
}

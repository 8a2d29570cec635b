// Debian's Chromium, and pages in it that keep count of what must not happen.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function launch() {
  const executablePath = places.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error('no Chromium: run tools/setup page');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'] });
}

export async function open(browser, file, { width = 1280, height = 900, dark = false, hash = '', context: options = {} } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const problems = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => /^(file|data|blob|about):/.test(request.url()) || problems.push(`asked for ${request.url()}`));
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector('.section, .failure');
  return { page, problems, close: () => context.close() };
}

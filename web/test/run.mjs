// npm test: every *.spec.mjs, one after the other (a browser each), failing if there is none.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

const folder = new URL('.', import.meta.url).pathname;
const specs = readdirSync(folder).filter((name) => name.endsWith('.spec.mjs')).map((name) => folder + name);
if (specs.length === 0) throw new Error('no tests');
const done = spawnSync(process.execPath, ['--test', '--test-reporter=spec', '--test-concurrency=1', '--test-timeout=180000', ...specs], { stdio: 'inherit' });
process.exit(done.status ?? 1);

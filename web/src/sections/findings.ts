// What is wrong, what shows it, what it costs and how to mend it.
import { button, el, section } from '../dom';
import { milliseconds } from '../format';
import { number, objects, text } from '../json';
import type { Json } from '../page';
import type { Reading } from '../reading';
import { copyText } from '../copy';

function costOf(finding: Json): string {
  const cost = number(finding, 'cost_ms'), note = text(finding, 'cost_note');
  if (cost === undefined) return note ? `cannot be said from this: ${note}` : 'cannot be said from this: a trace would tell';
  return `${milliseconds(cost)} a step${note ? ` (${note})` : ''}`;
}

function findingElement(finding: Json): HTMLElement {
  const fix = text(finding, 'fix'), severity = text(finding, 'severity');
  const row = (name: string, value: Node | string): HTMLElement => el('div', {}, el('dt', {}, name), el('dd', {}, value));
  const mend = el('span', {}, el('code', {}, fix), ' ', button('Copy', () => copyText(fix, 'Copied'), {
    class: 'quiet small', 'aria-label': `Copy how to mend: ${text(finding, 'what')}` }));
  return el('li', { class: ['high', 'medium', 'low'].includes(severity) ? `finding severity-${severity}` : 'finding' },
    el('h3', {}, text(finding, 'what')),
    el('p', { class: 'tags' }, ...[severity, text(finding, 'sure'), text(finding, 'rule')].filter(Boolean)
      .map((tag) => el('span', { class: 'chip' }, tag))),
    el('dl', {}, row('Seen', text(finding, 'evidence')), row('Costs', costOf(finding)), fix ? row('Mend', mend) : null));
}

const cut = (value: string): string => value.slice(0, 40);

// The report says the same in sentences.
function useSentences(reading: Reading, found: Json[]): void {
  for (const block of reading.leftOf('sentence')) {
    const line = block.text.trim();
    const said = found.some((finding) =>
      line.includes(cut(text(finding, 'what'))) || (/^(seen|mend) /.test(line)
        && (line.includes(cut(text(finding, 'evidence'))) || line.includes(cut(text(finding, 'fix'))))));
    if (said || /^costs {2}/.test(line) || /^Not proved, but/.test(line)) reading.use(block);
  }
}

function nvlink(reading: Reading): HTMLElement | null {
  const present = text(reading.page.data, 'nvlink', 'present');
  if (!present) return null;
  reading.sentenceBeginning('NVLink: present');
  return el('p', { class: 'nvlink' }, el('strong', {}, 'NVLink'), ` present: ${present}, used: `
    + `${text(reading.page.data, 'nvlink', 'used')} (${text(reading.page.data, 'nvlink', 'why')})`);
}

export function findingsSection(reading: Reading): HTMLElement | null {
  const findings = objects(reading.page.data, 'findings'), hints = objects(reading.page.data, 'hints');
  const link = nvlink(reading);
  if (findings.length + hints.length === 0 && !link) return null;
  useSentences(reading, [...findings, ...hints]);
  return section('findings', 'What is wrong',
    findings.length === 0 ? el('p', {}, 'Nothing wrong was found.') : el('ol', { class: 'finding-list' }, ...findings.map(findingElement)),
    link,
    hints.length > 0 ? el('h3', {}, 'Not proved, but worth a look') : null,
    hints.length > 0 ? el('ul', { class: 'finding-list' }, ...hints.map(findingElement)) : null);
}

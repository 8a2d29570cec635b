// What else would help, as bars from 1x on, and where the answer turns.
import { el, section, styled, type Child } from '../dom';
import { times } from '../format';
import { number, objects, text } from '../json';
import type { Json } from '../page';
import type { Reading } from '../reading';

function remedyRow(remedy: Json, most: number): HTMLElement {
  const speedup = number(remedy, 'speedup') ?? 1;
  const share = Math.max(0, Math.min(1, (speedup - 1) / (most - 1 || 1)));
  return el('tr', {},
    el('th', { scope: 'row', class: 'left' }, text(remedy, 'what')),
    el('td', { class: 'right' }, times(speedup)),
    el('td', { class: 'gain', 'aria-hidden': true }, styled(el('span', {}), { width: `${100 * share}%` })),
    el('td', { class: 'left note' }, text(remedy, 'note')));
}

function turnText(turn: Json): string {
  const verdict = text(turn, 'verdict');
  const does = verdict === 'helps' ? 'helps' : verdict === 'hurts' ? 'hurts' : 'does not matter';
  const fits = turn['fits'] === false ? '; does not fit the GPU’s memory' : '';
  return `${text(turn, 'what')} it ${does} (${times(number(turn, 'speedup') ?? 1)}${fits})`;
}

function takeGroup(reading: Reading, beginning: string): string {
  const group = reading.groupTitled(beginning);
  if (!group) return beginning;
  reading.use(...group.blocks);
  return group.title;
}

export function helpsSection(reading: Reading): HTMLElement | null {
  const remedies = objects(reading.page.data, 'remedies'), turns = objects(reading.page.data, 'turns');
  if (remedies.length + turns.length === 0) return null;
  const most = Math.max(...remedies.map((remedy) => number(remedy, 'speedup') ?? 1), 1.01);
  const parts: Child[] = [];
  const title = remedies.length > 0 ? takeGroup(reading, 'What else would help') : 'Where the answer turns';
  if (remedies.length > 0)
    parts.push(el('table', { class: 'remedies' }, el('thead', { class: 'spoken' }, el('tr', {},
      ...['what', 'speedup', 'drawn', 'note'].map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, ...remedies.map((remedy) => remedyRow(remedy, most)))));
  if (turns.length > 0) {
    const heading = takeGroup(reading, 'Where the answer turns');
    if (remedies.length > 0) parts.push(el('h3', {}, heading));
    parts.push(el('ul', { class: 'turns' }, ...turns.map((turn) => el('li', {}, turnText(turn)))));
  }
  return section('helps', title, ...parts);
}

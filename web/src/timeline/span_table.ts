// The timeline in words: for each kind how often and how long, for those who read rather than look.
import { el } from '../dom';
import { counted, nanoseconds } from '../format';
import { scrolling } from '../sections/blocks';
import type { Spans } from './decode';

function rowsOf(spans: Spans): HTMLElement[] {
  const sums = spans.source.kinds.map(() => ({ count: 0, total: 0, longest: -1 }));
  for (let i = 0; i < spans.count; i++) {
    const sum = sums[spans.kind[i]!]!;
    sum.count++;
    sum.total += spans.duration[i]!;
    if (sum.longest < 0 || spans.duration[i]! > spans.duration[sum.longest]!) sum.longest = i;
  }
  return sums.flatMap((sum, kind) => (sum.count === 0 ? [] : [el('tr', {},
    el('td', { class: 'left' }, spans.source.name), el('th', { scope: 'row', class: 'left' }, spans.source.kinds[kind]!),
    el('td', { class: 'right' }, counted(sum.count, 'span')), el('td', { class: 'right' }, nanoseconds(sum.total)),
    el('td', { class: 'left' }, `${nanoseconds(spans.duration[sum.longest]!)}, ${spans.source.names[spans.name[sum.longest]!] || spans.source.kinds[kind]!} on rank `
      + `${spans.source.lanes[spans.lane[sum.longest]!]!.rank}`))]));
}

export function spanTable(all: Spans[]): HTMLElement {
  const head = ['timeline', 'kind', 'spans', 'together', 'longest'].map((name) => el('th', { scope: 'col' }, name));
  return el('details', {}, el('summary', {}, 'The timeline as a table'), scrolling('Spans by kind',
    el('table', {}, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...all.flatMap(rowsOf)))));
}

// A speedup and its range on a logarithmic axis, so that twice and half are equally far from 1. Drawn with boxes: it is as
// wide as the page, and its text stays as large as the text around it.
import { el, styled } from '../dom';
import { times } from '../format';
import { number } from '../json';

export interface Range { speedup: number; low: number; high: number }

export function rangeOf(answer: unknown): Range | undefined {
  const speedup = number(answer, 'speedup'), low = number(answer, 'low'), high = number(answer, 'high');
  if (speedup === undefined || low === undefined || high === undefined) return undefined;
  return speedup > 0 && low > 0 && high >= low ? { speedup, low, high } : undefined;
}

const roundOnes = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100, 200, 500, 1000];

function plot({ speedup, low, high }: Range): HTMLElement {
  const most = Math.max(high, 1.25) * 1.15, least = Math.min(low, 0.9) / 1.1;
  const share = (value: number): number => (100 * Math.log(value / least)) / Math.log(most / least);
  const at = (value: number): { left: string } => ({ left: `${share(value)}%` });
  const ticks = roundOnes.filter((tick) => tick > least && tick < most && (tick === 1 || Math.abs(share(tick) - share(1)) > 6));
  const apart = share(high) - share(low);
  return el('div', { class: 'range', role: 'img', 'aria-label': `${times(speedup)}, range ${times(low)} to ${times(high)}; 1x is no difference` },
    styled(el('span', { class: 'range-slower' }, share(1) > 14 ? 'slower' : ''), { width: `${share(1)}%` }),
    ...ticks.map((tick) => styled(el('span', { class: tick === 1 ? 'range-tick one' : 'range-tick' }, `${tick}x`), at(tick))),
    styled(el('span', { class: 'range-one' }), at(1)),
    styled(el('span', { class: 'range-band' }), { ...at(low), width: `${apart}%` }),
    styled(el('span', { class: 'range-dot' }), at(speedup)),
    apart > 12 ? styled(el('span', { class: 'range-end' }, times(low)), at(low)) : null,
    apart > 12 ? styled(el('span', { class: 'range-end' }, times(high)), at(high)) : null);
}

export function rangeFigure(range: Range): HTMLElement {
  return el('figure', { class: 'range-figure' }, plot(range), el('figcaption', {}, `The range ${times(range.low)} to ${times(range.high)} should hold eight of ten such runs; 1x would be no difference.`));
}

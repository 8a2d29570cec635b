// The answer in a sentence, with its range drawn against 1.0x.
import { el, styled, type Child } from '../dom';
import { times } from '../format';
import { number, objects, text, texts } from '../json';
import type { Reading } from '../reading';

const verdictWords: { [verdict: string]: string } = {
  helps: 'faster', no_difference: 'no difference', hurts: 'slower',
};
const sureWords: { [sure: string]: string } = {
  yes: 'sure', probably: 'probably', cant_tell: 'cannot tell',
};

interface Range { speedup: number; low: number; high: number }

// The range on a logarithmic axis, so that twice and half are equally far from 1. Drawn with boxes: it is as wide as
// the page, and its text stays as large as the text around it.
export function rangePlot({ speedup, low, high }: Range): HTMLElement {
  const most = Math.max(high, 1 / low, 1.25) * 1.12;
  const least = Math.min(low, 1) / 1.18;
  const place = (value: number): string =>
    `${(100 * Math.log(value / least)) / Math.log(most / least)}%`;
  const width = (from: number, to: number): string =>
    `${(100 * Math.log(to / from)) / Math.log(most / least)}%`;
  const ticks = [0.25, 0.5, 0.75, 1.5, 2, 3, 4, 6, 8, 12, 16, 32].filter((tick) => tick > least && tick < most);
  const thinned = ticks.filter((tick, index) =>
    tick === 2 || tick === 0.5 || index === 0 || Math.abs(Math.log(tick / ticks[index - 1]!)) > Math.log(most / least) / 9);
  const label = `${times(speedup)}, range ${times(low)} to ${times(high)}; 1.0x is no difference`;
  return el('div', { class: 'range', role: 'img', 'aria-label': label },
    styled(el('span', { class: 'range-slower' }), { width: place(1) }),
    ...thinned.map((tick) => styled(el('span', { class: 'range-tick' }, `${tick}x`), { left: place(tick) })),
    styled(el('span', { class: 'range-one' }, el('span', {}, '1x')), { left: place(1) }),
    styled(el('span', { class: 'range-band' }), { left: place(low), width: width(low, high) }),
    styled(el('span', { class: 'range-dot' }), { left: place(speedup) }));
}

function rangeOf(answer: unknown): Range | undefined {
  const speedup = number(answer, 'speedup'), low = number(answer, 'low'), high = number(answer, 'high');
  if (speedup === undefined || low === undefined || high === undefined) return undefined;
  return speedup > 0 && low > 0 && high >= low ? { speedup, low, high } : undefined;
}

function comparison(reading: Reading): Child[] {
  const answer = reading.page.data['answer'];
  const range = rangeOf(answer);
  const verdict = text(answer, 'verdict');
  const sure = text(answer, 'sure');
  const better = text(answer, 'better'), worse = text(answer, 'worse');
  return [
    el('div', { class: `verdict verdict-${verdict}` },
      range ? el('span', { class: 'figure' }, times(range.speedup)) : null,
      el('span', { class: 'words' }, verdictWords[verdict] ?? verdict),
      sure ? el('span', { class: 'chip' }, sureWords[sure] ?? sure) : null),
    better ? el('p', { class: 'sides' }, el('span', {}, better), ' over ', el('span', {}, worse || 'what is there')) : null,
    el('p', { class: 'sentence' }, text(answer, 'sentence')),
    range ? el('figure', { class: 'range-figure' }, rangePlot(range),
      el('figcaption', {}, `A step is ${times(range.speedup)} as fast; eight of ten answers lie between `
        + `${times(range.low)} and ${times(range.high)}. Left of the line it would be slower.`)) : null,
  ];
}

function warnings(reading: Reading): HTMLElement[] {
  const all = texts(reading.page.data, 'warnings');
  for (const warning of all) reading.sentenceBeginning(`But ${warning}`);
  return all.map((warning) => el('p', { class: 'warning' }, el('strong', {}, 'But '), `${warning}.`));
}

function headline(reading: Reading): Child[] {
  const findings = objects(reading.page.data, 'findings');
  if (findings.length > 0) {
    const worst = text(findings[0], 'what');
    const more = findings.length - 1;
    return [el('p', { class: 'sentence' }, more === 0 ? `${worst}.` : `${worst}, and ${more} more ${more === 1 ? 'finding' : 'findings'}.`)];
  }
  const first = reading.leftOf('sentence')[0] ?? reading.leftOf('title')[0];
  if (!first) return [];
  reading.use(first);
  return [el('p', { class: 'sentence' }, first.text.trim())];
}

export function answerSection(reading: Reading): HTMLElement {
  const sentence = text(reading.page.data, 'answer', 'sentence');
  const isComparison = sentence !== '';
  if (isComparison) reading.sentenceBeginning(sentence);
  return el('section', { class: 'section answer', 'aria-label': 'Answer' },
    ...(isComparison ? comparison(reading) : headline(reading)), ...warnings(reading));
}

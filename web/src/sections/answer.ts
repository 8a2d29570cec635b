// The answer: in large what matters most, then the sentence, and where there is a range, the range against 1.0x.
import { el, type Child } from '../dom';
import { counted, milliseconds, plain, times } from '../format';
import { number, objects, text, texts } from '../json';
import type { Reading } from '../reading';
import { plainText } from './blocks';
import { rangeFigure, rangeOf } from './range';

const verdictWords: { [verdict: string]: string } = { helps: 'faster', no_difference: 'no difference', hurts: 'slower' };
const sureWords: { [sure: string]: string } = { yes: 'sure', probably: 'probably', cant_tell: 'cannot tell' };
const bottleneckWords: { [bottleneck: string]: string } = {
  compute: 'Computing is what takes the time', launch: 'The GPU waits for the host to launch work', input: 'The GPU waits for input',
  communication_intra: 'Communication inside the node is in the way', communication_inter: 'Communication between nodes is in the way',
  communication: 'Communication is in the way', straggler: 'One rank keeps the others waiting', none: 'Nothing stands out', unknown: 'Cannot be told from this',
};

function big(figure: string, words: string, kind: string, ...more: Child[]): HTMLElement {
  return el('div', { class: `verdict verdict-${kind}` }, figure ? el('span', { class: 'figure' }, figure) : null,
    el('span', { class: 'words' }, words), ...more);
}

function comparison(reading: Reading): Child[] {
  const answer = reading.page.data['answer'];
  const range = rangeOf(answer), verdict = text(answer, 'verdict'), sure = text(answer, 'sure');
  const better = text(answer, 'better'), worse = text(answer, 'worse');
  reading.sentenceBeginning(text(answer, 'sentence'));
  return [
    big(range ? times(range.speedup) : '', verdictWords[verdict] ?? verdict, verdict in verdictWords ? verdict : 'other',
      sure ? el('span', { class: 'chip' }, sureWords[sure] ?? sure) : null),
    better ? el('p', { class: 'sides' }, el('span', {}, better), ' over ', el('span', {}, worse || 'what is there')) : null,
    range ? rangeFigure(range) : null,
    el('p', { class: 'sentence' }, text(answer, 'sentence')),
  ];
}

function bottleneck(reading: Reading): Child[] {
  const verdict = reading.page.data['verdict'];
  const name = text(verdict, 'bottleneck'), rank = number(verdict, 'rank'), reason = text(verdict, 'reason');
  reading.sentenceBeginning(`${name}:`);
  const words = (bottleneckWords[name] ?? name) + (rank === undefined ? '' : ` (rank ${rank})`);
  return [big('', words, ['none', 'compute', 'unknown'].includes(name) ? 'no_difference' : 'hurts'),
    el('p', { class: 'sentence' }, reason ? `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.` : '')];
}

function diagnosis(reading: Reading): Child[] {
  const findings = objects(reading.page.data, 'findings');
  const cost = findings.reduce((sum, finding) => sum + (number(finding, 'cost_ms') ?? 0), 0);
  if (findings.length === 0) return [big('', 'Nothing wrong was found', 'helps'), firstSentence(reading)];
  return [big(String(findings.length), findings.length === 1 ? 'thing is wrong' : 'things are wrong', 'hurts',
    cost > 0 ? el('span', { class: 'chip' }, `up to ${milliseconds(cost)} a step`) : null),
    el('p', { class: 'sentence' }, `${text(findings[0], 'what')}${findings.length > 1 ? `, and ${counted(findings.length - 1, 'more finding')}` : ''}.`)];
}

function run(reading: Reading): Child[] {
  const rate = number(reading.page.data, 'samples_per_s')!, step = number(reading.page.data, 'step_ms');
  return [big(plain(rate), 'samples a second', 'other', step ? el('span', { class: 'chip' }, `${milliseconds(step)} a step`) : null), firstSentence(reading)];
}

function firstSentence(reading: Reading): Child {
  const first = reading.left().find((block) => block.kind === 'sentence' || block.kind === 'title');
  if (first?.kind !== 'sentence' && first?.kind !== 'title') return null;
  reading.use(first);
  return el('p', { class: 'sentence' }, plainText(first.text));
}

function warnings(reading: Reading): HTMLElement[] {
  const all = texts(reading.page.data, 'warnings');
  for (const warning of all) reading.sentenceBeginning(`But ${warning}`) ?? reading.sentenceBeginning(warning);
  return all.map((warning) => el('p', { class: 'warning' }, el('strong', {}, 'But '), `${warning}.`));
}

function told(reading: Reading): Child[] {
  const { data } = reading.page;
  if (text(data, 'answer', 'sentence')) return comparison(reading);
  if (Array.isArray(data['findings'])) return diagnosis(reading);
  if (text(data, 'verdict', 'bottleneck')) return bottleneck(reading);
  if (number(data, 'samples_per_s') !== undefined) return run(reading);
  return [firstSentence(reading)];
}

export function answerSection(reading: Reading): HTMLElement {
  return el('section', { class: 'section answer', 'aria-label': 'Answer' }, ...told(reading), ...warnings(reading));
}

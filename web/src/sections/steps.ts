// Where a step's time goes: on every machine (compare), on every rank (analyze), in the run (train).
import { el, section, type Child } from '../dom';
import { milliseconds } from '../format';
import { at, isObject, number, objects, text } from '../json';
import type { Bars } from '../page';
import { stepParts } from '../parts';
import type { Group, Reading } from '../reading';
import { blockElements } from './blocks';
import { stackedBars } from './bars';

function barOf(name: string, breakdown: unknown): Bars['bars'][number] {
  const values = stepParts.map(([key]) => Math.max(0, number(breakdown, key) ?? 0) / 1e3);
  const step = values.reduce((sum, value) => sum + value, 0);
  return { name, label: milliseconds(step * 1e3), values };
}

function barsFrom(data: unknown): Bars | undefined {
  const ranks = objects(data, 'ranks').filter((rank) => isObject(rank['breakdown_ms']));
  const bars = ranks.slice(0, 64).map((rank) => barOf(`rank ${number(rank, 'rank') ?? '?'}`, rank['breakdown_ms']));
  if (bars.length === 0 && isObject(at(data, 'breakdown_ms'))) bars.push(barOf('step', at(data, 'breakdown_ms')));
  if (bars.length === 0) return undefined;
  return { kind: 'bars', bars, parts: stepParts.map(([, name]) => ({ name, mark: '', in_legend: true })) };
}

// The table that says the same in figures stands below the bars, with the sentences that explain it.
function figuresGroup(reading: Reading): Group | undefined {
  if (objects(reading.page.data, 'machines').length === 0) return undefined;
  return reading.groups.find((group) => !group.title && group.blocks.some((block) => block.kind === 'table'));
}

function figures(reading: Reading): Child[] {
  const group = figuresGroup(reading);
  if (!group) return [];
  const blocks = reading.left(group.blocks);
  reading.use(...blocks);
  return blocks.flatMap((block, at) => {
    const explains = block.kind === 'sentence' && blocks.slice(0, at).some((before) => before.kind === 'table');
    return explains ? [el('p', { class: 'note' }, block.text.trim())] : blockElements([block]);
  });
}

function verdictFigures(data: unknown): Child {
  const all = objects(data, 'verdict', 'figures');
  if (all.length === 0) return null;
  return el('dl', { class: 'figures' }, ...all.flatMap((figure) => {
    const unit = text(figure, 'unit'), value = number(figure, 'value') ?? 0;
    return [el('div', {}, el('dt', {}, text(figure, 'what')),
      el('dd', {}, unit === 'ms' ? milliseconds(value) : `${value.toFixed(1)} ${unit}`))];
  }));
}

// The step of a run: a drawing of marks in a terminal says what the bars say, and so the table needs no column of marks.
function shares(reading: Reading): Child[] {
  const group = reading.groupTitled('A step of');
  if (!group) return [];
  const blocks = reading.left(group.blocks);
  reading.use(...blocks);
  return [el('details', {}, el('summary', {}, group.title), ...blockElements(blocks
    .filter((block) => block.kind !== 'drawing' && block.kind !== 'title')
    .map((block) => (block.kind === 'table' && block.left === 2 ? { ...block, left: 1, rows: block.rows.map((row) => row.slice(1)) } : block))))];
}

export function stepsSection(reading: Reading): HTMLElement | null {
  const given = reading.leftOf('bars')[0];
  const chart = given ?? barsFrom(reading.page.data);
  if (!chart) return null;
  const title = reading.groups.find((group) => given && group.blocks.includes(given))?.title || 'Where a step’s time goes';
  if (given) {
    reading.use(given);
    reading.use(...reading.leftOf('title').filter((block) => block.text === title));
  }
  return section('steps', title, verdictFigures(reading.page.data), stackedBars(chart), ...figures(reading), ...shares(reading));
}

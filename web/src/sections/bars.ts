// Bars of the same parts in one scale: the step of every machine or rank.
import { el, styled } from '../dom';
import type { Bars } from '../page';
import { milliseconds } from '../format';
import { colourOf, inkOn } from '../parts';

const sum = (values: number[]): number => values.reduce((total, value) => total + Math.max(0, value), 0);

function segment(name: string, seconds: number, longest: number): HTMLElement | null {
  const share = (100 * seconds) / longest;
  if (!(share > 0)) return null;
  const text = `${name} ${milliseconds(seconds * 1e3)}`;
  return styled(el('span', { class: 'segment', title: text }, share > 9 ? el('span', { class: 'inside' }, name) : null),
    { width: `${share}%`, 'background-color': colourOf(name), color: inkOn(name) });
}

function spoken(chart: Bars, values: number[]): string {
  return chart.parts.map((part, index) => [part.name, values[index] ?? 0] as const)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => `${name} ${milliseconds(value * 1e3)}`).join(', ');
}

// Values are seconds.
export function stackedBars(chart: Bars): HTMLElement {
  const longest = Math.max(...chart.bars.map((bar) => sum(bar.values)), 1e-12);
  const rows = chart.bars.map((bar) =>
    el('div', { class: 'bar', role: 'listitem' },
      el('span', { class: 'bar-name' }, bar.name),
      el('span', { class: 'bar-track', role: 'img', 'aria-label': `${bar.label}: ${spoken(chart, bar.values)}` },
        ...chart.parts.map((part, index) => segment(part.name, bar.values[index] ?? 0, longest)),
        el('span', { class: 'bar-label' }, bar.label))));
  const shown = chart.parts.filter((part, index) =>
    part.in_legend && chart.bars.some((bar) => (bar.values[index] ?? 0) > 0));
  return el('div', { class: 'bars' }, el('div', { role: 'list', class: 'bar-list' }, ...rows),
    legend(shown.map((part) => part.name)));
}

export function legend(names: string[]): HTMLElement {
  return el('ul', { class: 'legend', 'aria-label': 'Colours' }, ...names.map((name) =>
    el('li', {}, styled(el('span', { class: 'swatch' }), { 'background-color': colourOf(name) }), name)));
}

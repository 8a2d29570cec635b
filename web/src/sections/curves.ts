// Several series on logarithmic axes: bus bandwidth over size, throughput over batch or link rate. A range is a band.
import { drawnToWidth, el, svg, styled, type Child } from '../dom';
import { plain } from '../format';
import type { Curves, Point } from '../page';
import { logAxis, type Axis } from './axis';

const seriesCount = 6;
export const seriesColour = (index: number): string => `var(--series-${(index % seriesCount) + 1})`;
const dashes = ['', '7 4', '2 3', '9 3 2 3', '', '7 4'];

const drawable = (point: Point): boolean => point[0] > 0 && point[1] > 0;
const extent = (values: number[]): [number, number] => [Math.min(...values), Math.max(...values)];

function lineOf(points: Point[], x: Axis, y: Axis): string {
  return points.map((point, index) =>
    `${index === 0 ? 'M' : 'L'}${x.place(point[0]).toFixed(1)} ${y.place(point[1]).toFixed(1)}`).join('');
}

function bandOf(points: Point[], x: Axis, y: Axis): string {
  const banded = points.filter((point) => (point[4] ?? 0) > 0 && (point[5] ?? 0) > 0);
  if (banded.length < 2) return '';
  const corner = (at: number, value: number): string => `${x.place(at).toFixed(1)} ${y.place(value).toFixed(1)}`;
  return `M${banded.map((point) => corner(point[0], point[5]!)).join('L')}`
    + `L${banded.reverse().map((point) => corner(point[0], point[4]!)).join('L')}Z`;
}

function marker(index: number, cx: number, cy: number, title: string): SVGElement {
  const shape = index % 2 === 0
    ? svg('circle', { cx, cy, r: 3.5 })
    : svg('rect', { x: cx - 3, y: cy - 3, width: 6, height: 6 });
  return styled(svg('g', {}, shape, svg('circle', { cx, cy, r: 9, class: 'reach' }), svg('title', {}, title)), { fill: seriesColour(index) });
}

function draw(curves: Curves, width: number): SVGElement {
  const height = Math.round(Math.min(340, Math.max(220, width * 0.42)));
  const box = { left: 54, right: width - 30, top: 12, bottom: height - 42 };
  const points = curves.series.flatMap((series) => series.points.filter(drawable));
  const ys = points.flatMap((point) => [point[1], point[4] ?? point[1], point[5] ?? point[1]]).filter((value) => value > 0);
  const [lowX, highX] = extent(points.map((point) => point[0]));
  const [lowY, highY] = extent(ys);
  const x = logAxis(lowX, highX, box.left + 6, box.right - 6, 62, new Map(points.map((point) => [point[0], point[2]])));
  const y = logAxis(lowY / 1.08, highY * 1.08, box.bottom, box.top, 24);
  const axes: Child[] = [
    ...y.ticks.map((tick) => svg('g', { class: 'tick' },
      svg('line', { x1: box.left, x2: box.right, y1: y.place(tick.value), y2: y.place(tick.value) }),
      svg('text', { x: box.left - 8, y: y.place(tick.value) + 4, 'text-anchor': 'end' }, plainTick(tick.value)))),
    ...x.ticks.map((tick) => svg('g', { class: 'tick' },
      svg('line', { x1: x.place(tick.value), x2: x.place(tick.value), y1: box.top, y2: box.bottom }),
      svg('text', { x: x.place(tick.value), y: box.bottom + 17, 'text-anchor': 'middle' }, tick.text))),
    svg('text', { x: (box.left + box.right) / 2, y: height - 6, 'text-anchor': 'middle', class: 'axis-name' }, curves.x),
  ];
  const drawn = curves.series.flatMap((series, index): Child[] => {
    const shown = series.points.filter(drawable);
    const band = bandOf([...shown], x, y);
    return [
      band ? styled(svg('path', { d: band, class: 'band' }), { fill: seriesColour(index) }) : null,
      styled(svg('path', { d: lineOf(shown, x, y), class: 'curve', 'stroke-dasharray': dashes[index % dashes.length]! }), { stroke: seriesColour(index) }),
      ...shown.map((point) => marker(index, x.place(point[0]), y.place(point[1]), `${series.name}: ${point[3]} at ${point[2]}`)),
    ];
  });
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': spoken(curves), class: 'plot' }, ...axes, ...drawn);
}

const plainTick = (value: number): string => (value >= 0.1 ? String(value) : plain(value).replace(/0+$/, ''));

function spoken(curves: Curves): string {
  const ends = curves.series.filter((series) => series.points.length > 0).map((series) => {
    const first = series.points[0]!, last = series.points[series.points.length - 1]!;
    return `${series.name}: from ${first[3]} at ${first[2]} to ${last[3]} at ${last[2]}`;
  });
  return `${curves.title}. ${ends.join('; ')}`;
}

// Curves that are the same are one.
function merged(curves: Curves): Curves {
  const found = new Map<string, Curves['series'][number]>();
  for (const series of curves.series) {
    const key = JSON.stringify(series.points), known = found.get(key);
    found.set(key, known ? { ...known, name: `${known.name}, ${series.name}` } : series);
  }
  return { ...curves, series: [...found.values()] };
}

export function curvesFigure(given: Curves): HTMLElement | null {
  const curves = merged(given);
  if (!curves.series.some((series) => series.points.some(drawable))) return null;
  const names = curves.series.map((series, index) => el('li', {},
    styled(el('span', { class: 'swatch line' }), { 'background-color': seriesColour(index) }), series.name));
  return el('figure', { class: 'curves' },
    el('figcaption', {}, curves.title, curves.y && !curves.title.includes(curves.y) ? ` (${curves.y})` : ''),
    drawnToWidth(el('div', { class: 'plot-holder' }), (width) => draw(curves, width)),
    el('ul', { class: 'legend' }, ...names));
}

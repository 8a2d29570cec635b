// Curves: those of the report, and of an analyzed run what each collective reached against what its links should give.
import { section, type Child } from '../dom';
import { bytes, rate } from '../format';
import { number, objects, text } from '../json';
import type { Curves, Json, Point } from '../page';
import type { Reading } from '../reading';
import { curvesFigure } from './curves';

function pointsOf(rows: Json[], field: string): Point[] {
  return rows.flatMap((row): Point[] => {
    const size = number(row, 'bytes'), busbw = number(row, field);
    return size && busbw ? [[size, busbw, bytes(size), rate(busbw)]] : [];
  }).sort((a, b) => a[0] - b[0]);
}

function measuredAgainstExpected(data: Json): Curves | undefined {
  const rows = objects(data, 'collectives');
  const names = [...new Set(rows.map((row) => text(row, 'collective')))].slice(0, 3);
  const series = names.flatMap((name) => {
    const own = rows.filter((row) => text(row, 'collective') === name);
    return [{ name: `${name}, measured`, points: pointsOf(own, 'busbw_gbps') },
      { name: `${name}, expected`, points: pointsOf(own, 'expected_busbw_gbps') }];
  }).filter((one) => one.points.length > 0);
  if (!series.some((one) => one.points.length > 1)) return undefined;
  return { kind: 'curves', title: 'Bus bandwidth over size, GB/s', x: 'bytes', y: '', series };
}

export function curvesSection(reading: Reading): HTMLElement | null {
  const given = reading.leftOf('curves');
  reading.use(...given);
  const measured = measuredAgainstExpected(reading.page.data);
  const figures: Child[] = [...given, ...(measured ? [measured] : [])].map(curvesFigure);
  if (figures.every((figure) => figure === null)) return null;
  return section('curves-section', reading.page.verb === 'compare' || reading.page.verb === 'page' ? 'How it changes' : 'Bandwidth over size', ...figures);
}

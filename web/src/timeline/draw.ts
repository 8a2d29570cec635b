// Paints rows of a timeline. Near: every span with its name. Far: bins. Only what is seen is touched.
import { nanoseconds } from '../format';
import { levelFor, type Level } from './bins';
import type { Palette } from './palette';
import type { Row, Strip } from './rows';
import type { Matcher } from './search';
import { firstAbove, type Track } from './track';
import { roundStep, type View } from './view';

export interface Scene {
  rows: Row[];
  view: View;
  whole: number;
  scroll: number;
  width: number; // of the lanes, right of the gutter
  gutter: number;
  height: number;
  ruler: number;
  steps: { begin: number; label: string }[];
  selected: { track: Track; at: number } | null;
  matches: Matcher | null; // of the search; null when there is none
  palette: Palette;
}

const covers = 8;

function paintBins(paint: CanvasRenderingContext2D, scene: Scene, strip: Strip, y: number, level: Level): void {
  const { view, gutter, palette } = scene;
  const scale = scene.width / (view.end - view.begin);
  const colours = palette.faded(strip.track.spans.source.kinds);
  const first = Math.max(0, Math.floor((view.begin - strip.shift) / level.width));
  const last = Math.min(level.kind.length - 1, Math.floor((view.end - strip.shift) / level.width));
  const place = (bin: number): number => gutter + (bin * level.width + strip.shift - view.begin) * scale;
  for (let bin = first; bin <= last;) {
    const cover = level.cover[bin]! === 0 ? 0 : 1 + ((level.cover[bin]! * (covers - 1)) >> 8);
    const kind = level.kind[bin]!;
    let next = bin + 1;
    while (next <= last && level.kind[next] === kind
      && (level.cover[next] === 0 ? 0 : 1 + ((level.cover[next]! * (covers - 1)) >> 8)) === cover) next++;
    if (cover > 0) {
      paint.fillStyle = colours[kind]![cover]!;
      const x = Math.max(gutter, place(bin));
      paint.fillRect(x, y, Math.max(0.75, place(next) - x), strip.height);
    }
    bin = next;
  }
}

function label(paint: CanvasRenderingContext2D, text: string, x: number, y: number, width: number): void {
  const letters = Math.floor((width - 8) / 6.1);
  if (letters < 3) return;
  paint.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, x + 4, y);
}

// On a narrow screen.
const brief = (text: string): string => text.replace(/^rank /, '').replace(/^((?:\d+ )?)communication$/, '$1comm');

function isDimmed(scene: Scene, track: Track, span: number): boolean {
  return scene.matches !== null && !scene.matches(track.spans, span);
}

// Spans too narrow to be told apart are stepped over a pixel at a time.
function paintSpans(paint: CanvasRenderingContext2D, scene: Scene, strip: Strip, y: number): void {
  const { view, gutter, palette } = scene, { track, shift, height } = strip, { spans } = track;
  const scale = scene.width / (view.end - view.begin);
  const right = gutter + scene.width;
  const colours = palette.solid(spans.source.kinds), inks = palette.inks(spans.source.kinds);
  let painted = -1;
  for (let i = firstAbove(track.reach, view.begin - shift); i < track.index.length; i++) {
    if (track.begin[i]! + shift > view.end) break;
    const end = gutter + (track.end[i]! + shift - view.begin) * scale;
    if (end < gutter || (end < painted + 0.5 && end > painted - 1)) continue;
    const x = Math.max(gutter, gutter + (track.begin[i]! + shift - view.begin) * scale);
    const width = Math.max(0.75, Math.min(end, right) - x);
    const span = track.index[i]!, kind = track.kind[i]!;
    const inside = i > 0 && track.reach[i - 1]! > track.begin[i]!;
    const top = inside ? y + height * 0.35 : y, tall = inside ? height * 0.65 : height;
    paint.globalAlpha = isDimmed(scene, track, span) ? 0.22 : 1;
    const ready = spans.ready[span]!;
    if (ready >= 0 && ready < track.begin[i]!) {
      const from = Math.max(gutter, gutter + (ready + shift - view.begin) * scale);
      paint.fillStyle = colours[kind]!;
      paint.fillRect(from, y + height - 2, Math.max(0, x - from), 1.5);
    }
    paint.fillStyle = colours[kind]!;
    paint.fillRect(x, top, width > 3 ? width - 0.75 : width, tall);
    if (width > 26 && height >= 11) {
      paint.fillStyle = inks[kind]!;
      label(paint, spans.source.names[spans.name[span]!] || spans.source.kinds[kind]!, x, top + tall / 2 + 4, width);
    }
    painted = Math.max(painted, x + width);
  }
  paint.globalAlpha = 1;
}

function paintSelected(paint: CanvasRenderingContext2D, scene: Scene, strip: Strip, y: number): void {
  const { selected, view, gutter } = scene;
  if (selected?.track !== strip.track) return;
  const scale = scene.width / (view.end - view.begin);
  const place = (time: number): number =>
    Math.min(gutter + scene.width + 3, Math.max(gutter - 3, gutter + (time + strip.shift - view.begin) * scale));
  const x = place(strip.track.begin[selected.at]!), end = place(strip.track.end[selected.at]!);
  paint.strokeStyle = scene.palette.text;
  paint.lineWidth = 2;
  paint.strokeRect(x - 1, y - 1, Math.max(3, end - x + 2), strip.height + 2);
}

function paintRow(paint: CanvasRenderingContext2D, scene: Scene, row: Row, y: number): void {
  const { palette, gutter } = scene;
  if (row.heading) {
    paint.fillStyle = palette.text;
    paint.font = palette.boldFont;
    paint.fillText(row.label, 4, y + 16);
    paint.font = palette.font;
    return;
  }
  paint.fillStyle = palette.lane;
  paint.fillRect(gutter, y, scene.width, row.height - 2);
  const nsPerPixel = (scene.view.end - scene.view.begin) / scene.width;
  for (const strip of row.strips) {
    const level = scene.matches ? null : levelFor(strip.track, scene.whole, nsPerPixel);
    if (level) paintBins(paint, scene, strip, y + strip.top, level);
    else paintSpans(paint, scene, strip, y + strip.top);
  }
  paint.fillStyle = palette.ground;
  paint.fillRect(0, y - 1, gutter, row.height + 1);
  paint.fillStyle = palette.soft;
  label(paint, gutter < 100 ? brief(row.label) : row.label, 0, y + row.height / 2 + 3, gutter + 6);
  for (const strip of row.strips) paintSelected(paint, scene, strip, y + strip.top);
}

function paintRuler(paint: CanvasRenderingContext2D, scene: Scene): void {
  const { view, gutter, palette, ruler, height } = scene;
  const length = view.end - view.begin, scale = scene.width / length;
  paint.fillStyle = palette.ground;
  paint.fillRect(0, 0, gutter + scene.width, ruler);
  const step = roundStep(length, scene.width / 90);
  paint.fillStyle = palette.soft;
  for (let time = Math.ceil(view.begin / step) * step; time <= view.end; time += step) {
    const x = gutter + (time - view.begin) * scale;
    paint.fillRect(x, ruler - 5, 1, 5);
    if (x < gutter + scene.width - 40) paint.fillText(time === 0 ? '0' : nanoseconds(Number(time.toPrecision(9))), x + 3, ruler - 6);
  }
  let last = -Infinity;
  for (const mark of scene.steps) {
    const x = gutter + (mark.begin - view.begin) * scale;
    if (x < gutter || x > gutter + scene.width || x - last < 34) continue;
    last = x;
    paint.fillStyle = palette.line;
    paint.fillRect(x, ruler, 1, height - ruler);
  }
}

export function paintScene(paint: CanvasRenderingContext2D, scene: Scene): void {
  const { palette, ruler, height } = scene;
  paint.fillStyle = palette.ground;
  paint.fillRect(0, 0, scene.gutter + scene.width, height);
  paint.font = palette.font;
  for (const row of scene.rows) {
    const y = ruler + row.y - scene.scroll;
    if (y + row.height >= ruler && y <= height) paintRow(paint, scene, row, y);
  }
  paintRuler(paint, scene);
}

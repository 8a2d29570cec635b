// The whole of the time above the timeline, with a window on what is seen; drag it or click beside it.
import { el } from '../dom';
import { levelFor } from './bins';
import type { Palette } from './palette';
import type { Row, Strip } from './rows';
import type { View } from './view';

// Few enough to be drawn one by one.
function drawSpans(paint: CanvasRenderingContext2D, { track, shift }: Strip, colours: string[], scale: number, y: number, height: number): void {
  for (let i = 0; i < track.index.length; i++) {
    paint.fillStyle = colours[track.kind[i]!]!;
    paint.fillRect((track.begin[i]! + shift) * scale, y, Math.max(0.5, (track.end[i]! - track.begin[i]!) * scale), height);
  }
}

export class Minimap {
  readonly canvas = el('canvas', { class: 'minimap', 'aria-hidden': true });
  private picture: { rows: Row[]; palette: Palette; width: number; bitmap: HTMLCanvasElement } | null = null;
  private readonly height = 36;

  constructor(private readonly moveTo: (centre: number) => void) {
    const drag = (event: PointerEvent): void => {
      const box = this.canvas.getBoundingClientRect();
      this.moveTo((event.clientX - box.left - this.gutter) / Math.max(1, box.width - this.gutter));
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      drag(event);
    });
    this.canvas.addEventListener('pointermove', (event) => event.buttons === 1 && drag(event));
  }

  private gutter = 0;

  draw(rows: Row[], palette: Palette, view: View, whole: number, width: number, gutter: number): void {
    this.gutter = gutter;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
    }
    const paint = this.canvas.getContext('2d')!;
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.clearRect(0, 0, width, this.height);
    paint.drawImage(this.bitmap(rows, palette, whole, width - gutter), gutter, 0, width - gutter, this.height);
    const scale = (width - gutter) / whole;
    const begin = gutter + view.begin * scale, end = Math.max(begin + 2, gutter + view.end * scale);
    paint.fillStyle = palette.ground;
    paint.globalAlpha = 0.62;
    paint.fillRect(gutter, 0, begin - gutter, this.height);
    paint.fillRect(end, 0, width - end, this.height);
    paint.globalAlpha = 1;
    paint.strokeStyle = palette.text;
    paint.strokeRect(begin + 0.5, 0.5, Math.max(1, end - begin - 1), this.height - 1);
  }

  // Drawn once: what is seen moves over it.
  private bitmap(rows: Row[], palette: Palette, whole: number, width: number): HTMLCanvasElement {
    if (this.picture?.rows === rows && this.picture.palette === palette && this.picture.width === width) return this.picture.bitmap;
    const bitmap = el('canvas', { width: Math.max(1, Math.round(width)), height: this.height });
    const paint = bitmap.getContext('2d')!;
    paint.fillStyle = palette.lane;
    paint.fillRect(0, 0, width, this.height);
    const strips = rows.flatMap((row) => row.strips);
    const height = Math.max(0.5, this.height / Math.max(1, strips.length));
    strips.forEach((strip, at) => {
      const level = levelFor(strip.track, whole, whole / width), { kinds } = strip.track.spans.source;
      if (!level) return drawSpans(paint, strip, palette.solid(kinds), width / whole, at * height, height * 0.9);
      const colours = palette.faded(kinds);
      for (let bin = 0; bin < level.kind.length; bin++) {
        if (level.cover[bin] === 0) continue;
        paint.fillStyle = colours[level.kind[bin]!]![1 + ((level.cover[bin]! * 7) >> 8)]!;
        const x = ((bin * level.width + strip.shift) / whole) * width;
        paint.fillRect(x, at * height, (level.width / whole) * width + 0.3, height * 0.9);
      }
    });
    this.picture = { rows, palette, width, bitmap };
    return bitmap;
  }
}

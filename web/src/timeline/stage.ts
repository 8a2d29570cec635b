// The canvas and what it scrolls in. Knows how large it is, on a screen and on paper, and paints when asked.
import { el, on } from '../dom';
import { isPrinting, onThemeChange } from '../theme';
import { paintScene, type Scene } from './draw';
import type { Minimap } from './minimap';
import { readPalette } from './palette';
import { heightOf } from './rows';

export const rulerHeight = 24;
const paper = { width: 700, tallest: 380 }; // as style/print.css has it: the layout of the screen does not tell

export type Drawn = Pick<Scene, 'rows' | 'view' | 'whole' | 'steps' | 'selected' | 'matches'>;

export class Stage {
  readonly canvas = el('canvas', { class: 'lanes' });
  private readonly spacer = el('div', { class: 'spacer', 'aria-hidden': true });
  readonly scroller: HTMLElement;
  private palette = readPalette();
  private waiting = false;

  constructor(helpId: string, private readonly minimap: Minimap, private readonly drawn: () => Drawn) {
    this.scroller = el('div', { class: 'scroller', tabindex: 0, role: 'application', 'aria-label': 'Timeline', 'aria-describedby': helpId }, this.canvas, this.spacer);
    on(this.scroller, 'scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    onThemeChange(() => {
      this.palette = readPalette();
      this.paint();
    });
  }

  // As tall as its rows, up to what the style sheet allows.
  fit(): void {
    const content = `${rulerHeight + heightOf(this.drawn().rows)}px`;
    this.spacer.style.height = content;
    this.scroller.style.setProperty('--content', content);
  }

  get size(): { width: number; height: number } {
    const content = rulerHeight + heightOf(this.drawn().rows);
    return isPrinting() ? { width: paper.width, height: Math.min(content, paper.tallest) } : { width: this.scroller.clientWidth, height: this.scroller.clientHeight };
  }
  get gutter(): number {
    return this.size.width < 520 ? 74 : 138;
  }
  get laneWidth(): number {
    return Math.max(1, this.size.width - this.gutter);
  }

  // With the next frame, once for all that was asked until then.
  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.paint());
  }

  paint(): void {
    this.waiting = false;
    const { width, height } = this.size;
    if (width === 0 || height === 0) return;
    const ratio = isPrinting() ? 2 : devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const paint = this.canvas.getContext('2d', { alpha: false })!;
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    const drawn = this.drawn(), { gutter, laneWidth, palette } = this;
    paintScene(paint, { ...drawn, scroll: this.scroller.scrollTop, width: laneWidth, gutter, height, ruler: rulerHeight, palette });
    this.minimap.draw(drawn.rows, palette, drawn.view, drawn.whole, width, gutter);
  }
}

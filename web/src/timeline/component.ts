// The timeline as a part of the page: canvas, minimap, search, selection and the keys. It is made once and shown again
// with other timelines when the question changes; what was zoomed to stays.
import { button, el, freshId, on, type Child } from '../dom';
import { counted, nanoseconds } from '../format';
import { isPrinting, onThemeChange } from '../theme';
import type { PageTimeline } from '../page';
import { legend } from '../sections/bars';
import { decodeTimeline, type Spans } from './decode';
import { factsOf, nameOf } from './describe';
import { paintScene, type Scene } from './draw';
import { listenToKeys } from './keys';
import { Minimap } from './minimap';
import { readPalette } from './palette';
import { listenToPointer } from './pointer';
import { below, heightOf, over, type Row, type Strip } from './rows';
import { findSpans, matcherOf, type Found, type Matcher } from './search';
import { spanTable } from './span_table';
import { stepsOf, type StepMark } from './steps';
import { spanAt, tracksOf, type Track } from './track';
import { around, panned, within, zoomed, type View } from './view';

const rulerHeight = 24;
const helpText = 'Keys: W and S zoom, A and D or arrows pan, F frames the selected span, 0 shows all, . and , go to the next and the '
  + 'previous span, / searches. Drag to pan, Ctrl and wheel to zoom.';

export class TimelineView {
  readonly element: HTMLElement;
  private readonly canvas = el('canvas', { class: 'lanes' });
  private readonly spacer = el('div', { class: 'spacer', 'aria-hidden': true });
  private readonly scroller: HTMLElement;
  private readonly tip = el('div', { class: 'tip', hidden: true });
  private readonly detail = el('div', { class: 'selection', 'aria-live': 'polite' });
  private readonly search = el('input', { type: 'search', placeholder: 'Search spans', 'aria-label': 'Search spans by name' });
  private readonly searchCount = el('output', { class: 'note' });
  private readonly show = el('select', { 'aria-label': 'Which timelines' });
  private readonly stepChoice = el('select', { 'aria-label': 'Step' });
  private readonly legendHolder = el('div');
  private readonly tableHolder = el('div');
  private readonly hint = el('span', { class: 'note', hidden: true }, 'Ctrl and wheel zooms');
  private readonly minimap = new Minimap((centre) => this.centreOn(centre));
  private palette = readPalette();
  private all: Spans[] = [];
  private tracks: Track[][] = [];
  private rows: Row[] = [];
  private steps: StepMark[] = [];
  private view: View = { begin: 0, end: 1 };
  private whole = 1;
  private selected: Found | null = null;
  private found: Found[] = [];
  private matches: Matcher | null = null;
  private waiting = false;
  private shown = 0;

  constructor() {
    const help = freshId('timeline-help');
    this.scroller = el('div', { class: 'scroller', tabindex: 0, role: 'application', 'aria-label': 'Timeline', 'aria-describedby': help },
      this.canvas, this.spacer);
    this.element = el('div', { class: 'timeline-view' }, this.toolbar(), this.minimap.canvas,
      el('div', { class: 'frame' }, this.scroller, this.tip), this.detail, this.legendHolder,
      el('p', { class: 'note keys', id: help }, helpText), this.tableHolder);
    on(this.scroller, 'scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    onThemeChange(() => {
      this.palette = readPalette();
      this.paintNow();
    });
    this.listen();
  }

  // Later calls win over earlier ones that are still being unpacked.
  async showAll(timelines: PageTimeline[]): Promise<void> {
    const turn = ++this.shown;
    const all = await Promise.all(timelines.map(decodeTimeline));
    if (turn !== this.shown) return;
    this.all = all;
    this.tracks = all.map(tracksOf);
    this.selected = null;
    this.fillChoices();
    this.arrange();
    this.view = { begin: 0, end: this.whole };
    this.runSearch();
    this.tableHolder.replaceChildren(spanTable(all));
    const kinds = [...new Set(all.flatMap((spans) => spans.source.kinds.filter((_, kind) => spans.kind.includes(kind))))];
    this.legendHolder.replaceChildren(legend(kinds));
    this.describeSelected();
    this.paintNow();
    performance.mark('gradwire-timeline');
  }

  get visible(): View {
    return this.view;
  }

  private toolbar(): HTMLElement {
    on(this.search, 'input', () => this.runSearch());
    on(this.search, 'keydown', (event) => {
      const key = (event as KeyboardEvent).key;
      if (key === 'Enter') this.nextFound((event as KeyboardEvent).shiftKey ? -1 : 1);
      if (key === 'Escape') this.scroller.focus();
    });
    on(this.show, 'change', () => {
      this.selected = null;
      this.arrange();
      this.view = within(this.view, this.whole);
      if (this.show.value.startsWith('over') && this.steps.length > 1) this.goToStep();
      this.describeSelected();
      this.draw();
    });
    on(this.stepChoice, 'change', () => {
      this.arrange();
      this.goToStep();
    });
    const zoom = (factor: number) => () => this.setView(zoomed(this.view, factor, 0.5, this.whole));
    return el('div', { class: 'toolbar', role: 'group', 'aria-label': 'Timeline controls' }, this.show, this.stepChoice,
      el('span', { class: 'grow' }, this.search, this.searchCount),
      button('‹', () => this.nextFound(-1), { 'aria-label': 'Previous match' }), button('›', () => this.nextFound(1), { 'aria-label': 'Next match' }),
      button('−', zoom(1.6), { 'aria-label': 'Zoom out' }), button('+', zoom(1 / 1.6), { 'aria-label': 'Zoom in' }),
      button('All', () => this.setView({ begin: 0, end: this.whole }), { 'aria-label': 'Show all of the time' }), this.hint);
  }

  private listen(): void {
    listenToKeys(this.scroller, {
      pan: (share) => this.setView(panned(this.view, share, this.whole)),
      zoom: (factor) => this.setView(zoomed(this.view, factor, 0.5, this.whole)),
      frame: () => this.frameSelected(),
      whole: () => this.setView({ begin: 0, end: this.whole }),
      next: (direction) => this.nextInLane(direction),
      search: () => this.search.focus(),
      clear: () => this.select(null),
    });
    const share = (x: number): number => Math.min(1, Math.max(0, (x - this.gutter) / this.laneWidth));
    let hinted = false;
    listenToPointer(this.canvas, {
      pan: (pixels) => {
        this.tip.hidden = true;
        this.setView(panned(this.view, pixels / this.laneWidth, this.whole));
      },
      zoom: (factor, x) => this.setView(zoomed(this.view, factor, share(x), this.whole)),
      hover: (x, y) => this.hover(x, y),
      leave: () => (this.tip.hidden = true),
      select: (x, y) => this.select(this.at(x, y)),
      doubled: (x, y) => {
        this.select(this.at(x, y));
        this.frameSelected();
      },
      wheelWithout: () => {
        if (!hinted) this.hint.hidden = false;
        hinted = true;
      },
    });
  }

  private fillChoices(): void {
    const before = this.show.value;
    const names = this.all.map((spans) => spans.source.name);
    const option = (value: string, label: string): HTMLOptionElement => el('option', { value }, label);
    const options: Child[] = [option('all', names.length > 1 ? 'All, one below the other' : names[0] ?? '')];
    if (names.length > 1) names.forEach((name, at) => options.push(option(`only ${at}`, `Only ${name}`)));
    if (names.length <= 5)
      names.forEach((upper, first) => names.forEach((lower, second) => {
        if (first < second) options.push(option(`over ${first} ${second}`, `${upper} laid over ${lower}`));
      }));
    this.show.replaceChildren(...(options as Node[]));
    if ([...this.show.options].some((one) => one.value === before)) this.show.value = before;
    this.show.hidden = names.length < 2;
    this.steps = this.all[0] ? stepsOf(this.all[0]) : [];
    this.stepChoice.replaceChildren(option('', 'All steps'), ...this.steps.slice(0, 2000).map((step, at) => option(String(at), step.label)));
    this.stepChoice.hidden = this.steps.length < 2;
  }

  private arrange(): void {
    const [mode, first, second] = this.show.value.split(' ');
    const shown = this.all.map((spans, at) => ({ name: `${spans.source.name}${spans.source.name.includes(spans.source.origin) ? '' : ` (${spans.source.origin})`}`, tracks: this.tracks[at]!, shift: 0 }));
    const step = this.steps[Number(this.stepChoice.value || 0)];
    if (mode === 'over') {
      const upper = shown[Number(first)]!, lower = shown[Number(second)]!;
      const lowerSteps = stepsOf(this.all[Number(second)]!);
      const match = lowerSteps.find((one) => one.label === step?.label) ?? lowerSteps[0];
      if (Number(first) === 0 && step && match) lower.shift = step.begin - match.begin;
      this.rows = over(upper, lower);
    } else this.rows = below(mode === 'only' ? [shown[Number(first)]!] : shown);
    let end = 1;
    for (const row of this.rows) for (const { track, shift } of row.strips) end = Math.max(end, (track.reach[track.reach.length - 1] ?? 0) + shift);
    this.whole = end;
    this.spacer.style.height = `${Math.max(0, rulerHeight + heightOf(this.rows))}px`;
    this.scroller.style.setProperty('--content', `${rulerHeight + heightOf(this.rows)}px`);
  }

  private goToStep(): void {
    const at = this.stepChoice.value;
    if (at === '' && !this.show.value.startsWith('over')) return this.setView({ begin: 0, end: this.whole });
    const step = this.steps[Number(at || 0)]!;
    const end = this.steps[Number(at || 0) + 1]?.begin ?? this.whole;
    this.setView(within({ begin: step.begin - (end - step.begin) * 0.02, end: end + (end - step.begin) * 0.02 }, this.whole));
  }

  // On paper it is as wide as style/print.css lets a page be; the layout of the screen does not tell.
  private get size(): { width: number; height: number } {
    const content = rulerHeight + heightOf(this.rows);
    return isPrinting() ? { width: 700, height: Math.min(content, 380) } : { width: this.scroller.clientWidth, height: this.scroller.clientHeight };
  }
  private get gutter(): number {
    return this.size.width < 520 ? 74 : 138;
  }
  private get laneWidth(): number {
    return Math.max(1, this.size.width - this.gutter);
  }

  private setView(view: View): void {
    this.view = view;
    this.draw();
  }
  private centreOn(share: number): void {
    const half = (this.view.end - this.view.begin) / 2;
    this.setView(within({ begin: share * this.whole - half, end: share * this.whole + half }, this.whole));
  }

  private at(x: number, y: number): Found | null {
    const inRows = y - rulerHeight + this.scroller.scrollTop;
    const row = y < rulerHeight ? undefined : this.rows.find((one) => inRows >= one.y && inRows < one.y + one.height);
    if (!row || x < this.gutter) return null;
    const strip = [...row.strips].reverse().find((one) => inRows - row.y >= one.top) ?? row.strips[0];
    if (!strip) return null;
    const nsPerPixel = (this.view.end - this.view.begin) / this.laneWidth;
    const time = this.view.begin + (x - this.gutter) * nsPerPixel - strip.shift;
    const at = spanAt(strip.track, time, 3 * nsPerPixel);
    return at < 0 ? null : { strip, at };
  }

  private factList({ strip, at }: Found): Child[] {
    const { spans, index } = strip.track, span = index[at]!;
    const facts = factsOf(spans, span, this.tracks[this.all.indexOf(spans)]!);
    if (this.all.length > 1) facts.push(['of', spans.source.name]);
    return [el('strong', {}, nameOf(spans, span)), el('dl', {}, ...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))))];
  }

  private hover(x: number, y: number): void {
    const found = this.at(x, y);
    this.tip.hidden = found === null;
    this.canvas.classList.toggle('pointing', found !== null);
    if (!found) return;
    this.tip.replaceChildren(...(this.factList(found) as Node[]));
    const room = this.scroller.clientWidth - this.tip.offsetWidth - 8;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, room))}px`;
    const under = y + 18 + this.tip.offsetHeight < Math.max(this.scroller.clientHeight, 220);
    this.tip.style.top = `${under ? y + 18 : Math.max(0, y - this.tip.offsetHeight - 10)}px`;
  }

  private select(found: Found | null): void {
    this.selected = found;
    this.describeSelected();
    this.draw();
  }
  private describeSelected(): void {
    this.detail.replaceChildren(...((this.selected ? this.factList(this.selected) : [el('span', { class: 'note' }, 'Click a span, or press . in the timeline, and what it is stands here.')]) as Node[]));
  }

  private reveal(found: Found): void {
    const { begin, end } = found.strip.track, shift = found.strip.shift;
    const from = begin[found.at]! + shift, to = end[found.at]! + shift;
    const length = this.view.end - this.view.begin;
    if (to - from > length || to - from < length / 400) this.view = around(from, Math.max(to, from + (to - from) * 4), this.whole);
    else if (from < this.view.begin || to > this.view.end) this.view = within({ begin: (from + to - length) / 2, end: (from + to + length) / 2 }, this.whole);
    const row = this.rows.find((one) => one.strips.includes(found.strip))!;
    const room = this.scroller.clientHeight - rulerHeight;
    if (row.y < this.scroller.scrollTop || row.y + row.height > this.scroller.scrollTop + room) this.scroller.scrollTop = row.y - room / 2;
    this.select(found);
  }

  private frameSelected(): void {
    if (!this.selected) return;
    const { strip, at } = this.selected;
    this.setView(around(strip.track.begin[at]! + strip.shift, strip.track.end[at]! + strip.shift, this.whole));
  }

  private nextInLane(direction: 1 | -1): void {
    const strip: Strip | undefined = this.selected?.strip ?? this.rows.find((row) => row.strips.length > 0)?.strips[0];
    if (!strip || strip.track.index.length === 0) return;
    const at = this.selected ? this.selected.at + direction : 0;
    this.reveal({ strip, at: Math.min(strip.track.index.length - 1, Math.max(0, at)) });
  }

  private runSearch(): void {
    const text = this.search.value.trim();
    this.matches = text ? matcherOf(this.all, text) : null;
    this.found = this.matches ? findSpans(this.rows, this.matches) : [];
    const length = this.found.reduce((sum, { strip, at }) => sum + strip.track.end[at]! - strip.track.begin[at]!, 0);
    this.searchCount.textContent = text ? `${counted(this.found.length, 'span')}${this.found.length ? `, ${nanoseconds(length)}` : ''}` : '';
    this.draw();
  }
  private nextFound(direction: 1 | -1): void {
    if (this.found.length === 0) return;
    const now = this.found.findIndex((one) => one.at === this.selected?.at && one.strip === this.selected.strip);
    this.reveal(this.found[(Math.max(now, direction < 0 ? 0 : -1) + direction + this.found.length) % this.found.length]!);
  }

  private draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.paintNow());
  }

  private paintNow(): void {
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
    const scene: Scene = { rows: this.rows, view: this.view, whole: this.whole, scroll: this.scroller.scrollTop, width: this.laneWidth,
      gutter: this.gutter, height, ruler: rulerHeight, steps: this.steps,
      selected: this.selected && { track: this.selected.strip.track, at: this.selected.at },
      matches: this.matches, palette: this.palette };
    paintScene(paint, scene);
    this.minimap.draw(this.rows, this.palette, this.view, this.whole, width, this.gutter);
  }
}

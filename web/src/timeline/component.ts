// The timeline as a part of the page: canvas, minimap, search, selection and the keys. It is made once and shown again
// with other timelines when the question changes.
import { button, el, freshId, on, type Child } from '../dom';
import { counted, nanoseconds } from '../format';
import type { PageTimeline } from '../page';
import { legend } from '../sections/bars';
import { Choices } from './choices';
import { decodeTimeline } from './decode';
import { factsOf, nameOf } from './describe';
import { listenToKeys } from './keys';
import { Minimap } from './minimap';
import { listenToPointer } from './pointer';
import type { Strip } from './rows';
import { findSpans, matcherOf, type Found, type Matcher } from './search';
import { spanTable } from './span_table';
import { rulerHeight, Stage } from './stage';
import { spanAt } from './track';
import { around, panned, within, zoomed, type View } from './view';

const helpText = 'Keys: W and S zoom, A and D or arrows pan, F frames the selected span, 0 shows all, . and , go to the next and the '
  + 'previous span, / searches. Drag to pan, Ctrl and wheel to zoom.';
const nothingSelected = 'Click a span, or press . in the timeline, and what it is stands here.';

export class TimelineView {
  readonly element: HTMLElement;
  private readonly tip = el('div', { class: 'tip', hidden: true });
  private readonly detail = el('div', { class: 'selection', 'aria-live': 'polite' });
  private readonly search = el('input', { type: 'search', placeholder: 'Search spans', 'aria-label': 'Search spans by name' });
  private readonly searchCount = el('output', { class: 'note' });
  private readonly legendHolder = el('div');
  private readonly tableHolder = el('div');
  private readonly hint = el('span', { class: 'note', hidden: true }, 'Ctrl and wheel zooms');
  private readonly choices = new Choices((view) => this.rearranged(view));
  private readonly stage: Stage;
  private view: View = { begin: 0, end: 1 };
  private selected: Found | null = null;
  private found: Found[] = [];
  private matches: Matcher | null = null;
  private turn = 0;

  constructor() {
    const help = freshId('timeline-help');
    const minimap = new Minimap((centre) => this.centreOn(centre));
    this.stage = new Stage(help, minimap, () => ({ rows: this.choices.rows, view: this.view, whole: this.choices.whole, steps: this.choices.steps,
      selected: this.selected && { track: this.selected.strip.track, at: this.selected.at }, matches: this.matches }));
    this.element = el('div', { class: 'timeline-view' }, this.toolbar(), minimap.canvas, el('div', { class: 'frame' }, this.stage.scroller, this.tip),
      this.detail, this.legendHolder, el('p', { class: 'note keys', id: help }, helpText), this.tableHolder);
    this.listen();
  }

  // Later calls win over earlier ones that are still being unpacked.
  async showAll(timelines: PageTimeline[]): Promise<void> {
    const turn = ++this.turn;
    const all = await Promise.all(timelines.map(decodeTimeline));
    if (turn !== this.turn) return;
    this.choices.offer(all);
    this.rearranged({ begin: 0, end: this.choices.whole });
    this.tableHolder.replaceChildren(spanTable(all));
    const kinds = all.flatMap((spans) => spans.source.kinds.filter((_, kind) => spans.kind.includes(kind)));
    this.legendHolder.replaceChildren(legend([...new Set(kinds)]));
    this.stage.paint();
    performance.mark('gradwire-timeline');
  }

  private rearranged(view: View): void {
    this.selected = null;
    this.tip.hidden = true;
    this.stage.fit();
    this.runSearch();
    this.describeSelected();
    this.setView(view);
  }

  private toolbar(): HTMLElement {
    on(this.search, 'input', () => this.runSearch());
    on(this.search, 'keydown', (event) => {
      const { key, shiftKey } = event as KeyboardEvent;
      if (key === 'Enter') this.nextFound(shiftKey ? -1 : 1);
      if (key === 'Escape') this.stage.scroller.focus();
    });
    const zoom = (factor: number) => (): void => this.zoom(factor, 0.5);
    return el('div', { class: 'toolbar', role: 'group', 'aria-label': 'Timeline controls' }, this.choices.which, this.choices.step,
      el('span', { class: 'grow' }, this.search, this.searchCount),
      button('‹', () => this.nextFound(-1), { 'aria-label': 'Previous match' }), button('›', () => this.nextFound(1), { 'aria-label': 'Next match' }),
      button('−', zoom(1.6), { 'aria-label': 'Zoom out' }), button('+', zoom(1 / 1.6), { 'aria-label': 'Zoom in' }),
      button('All', () => this.showWhole(), { 'aria-label': 'Show all of the time' }), this.hint);
  }

  private listen(): void {
    listenToKeys(this.stage.scroller, {
      pan: (share) => this.setView(panned(this.view, share, this.choices.whole)),
      zoom: (factor) => this.zoom(factor, 0.5),
      frame: () => this.frameSelected(),
      whole: () => this.showWhole(),
      next: (direction) => this.nextInLane(direction),
      search: () => this.search.focus(),
      clear: () => this.select(null),
    });
    const share = (x: number): number => Math.min(1, Math.max(0, (x - this.stage.gutter) / this.stage.laneWidth));
    listenToPointer(this.stage.canvas, {
      pan: (pixels) => {
        this.tip.hidden = true;
        this.setView(panned(this.view, pixels / this.stage.laneWidth, this.choices.whole));
      },
      zoom: (factor, x) => this.zoom(factor, share(x)),
      hover: (x, y) => this.hover(x, y),
      leave: () => (this.tip.hidden = true),
      select: (x, y) => this.select(this.at(x, y)),
      doubled: (x, y) => {
        this.select(this.at(x, y));
        this.frameSelected();
      },
      wheelWithout: () => (this.hint.hidden = false),
    });
  }

  private setView(view: View): void {
    this.view = view;
    this.stage.draw();
  }
  private zoom(factor: number, at: number): void {
    this.setView(zoomed(this.view, factor, at, this.choices.whole));
  }
  private showWhole(): void {
    this.setView({ begin: 0, end: this.choices.whole });
  }
  private centreOn(share: number): void {
    const half = (this.view.end - this.view.begin) / 2, centre = share * this.choices.whole;
    this.setView(within({ begin: centre - half, end: centre + half }, this.choices.whole));
  }

  private at(x: number, y: number): Found | null {
    const inRows = y - rulerHeight + this.stage.scroller.scrollTop;
    const row = y < rulerHeight ? undefined : this.choices.rows.find((one) => inRows >= one.y && inRows < one.y + one.height);
    if (!row || x < this.stage.gutter) return null;
    const strip = [...row.strips].reverse().find((one) => inRows - row.y >= one.top) ?? row.strips[0];
    if (!strip) return null;
    const nsPerPixel = (this.view.end - this.view.begin) / this.stage.laneWidth;
    const at = spanAt(strip.track, this.view.begin + (x - this.stage.gutter) * nsPerPixel - strip.shift, 3 * nsPerPixel);
    return at < 0 ? null : { strip, at };
  }

  private factList({ strip, at }: Found): Child[] {
    const { spans, index } = strip.track, { all, tracks } = this.choices;
    const facts = factsOf(spans, index[at]!, tracks[all.indexOf(spans)]!);
    if (all.length > 1) facts.push(['of', spans.source.name]);
    return [el('strong', {}, nameOf(spans, index[at]!)), el('dl', {}, ...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))))];
  }

  private hover(x: number, y: number): void {
    const found = this.at(x, y);
    this.tip.hidden = found === null;
    this.stage.canvas.classList.toggle('pointing', found !== null);
    if (!found) return;
    this.tip.replaceChildren(...(this.factList(found) as Node[]));
    const { width, height } = this.stage.size;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, width - this.tip.offsetWidth - 8))}px`;
    const under = y + 18 + this.tip.offsetHeight < Math.max(height, 220);
    this.tip.style.top = `${under ? y + 18 : Math.max(0, y - this.tip.offsetHeight - 10)}px`;
  }

  private select(found: Found | null): void {
    this.selected = found;
    this.describeSelected();
    this.stage.draw();
  }
  private describeSelected(): void {
    const told = this.selected ? this.factList(this.selected) : [el('span', { class: 'note' }, nothingSelected)];
    this.detail.replaceChildren(...(told as Node[]));
  }

  // Brings a span into sight: as near as it is, if it can be seen so, and its row too.
  private reveal(found: Found): void {
    const { track, shift } = found.strip, { whole, rows } = this.choices, { scroller } = this.stage;
    const from = track.begin[found.at]! + shift, to = track.end[found.at]! + shift, length = this.view.end - this.view.begin;
    if (to - from > length || to - from < length / 400) this.view = around(from, from + (to - from) * 4, whole);
    else if (from < this.view.begin || to > this.view.end) this.view = within({ begin: (from + to - length) / 2, end: (from + to + length) / 2 }, whole);
    const row = rows.find((one) => one.strips.includes(found.strip))!, room = scroller.clientHeight - rulerHeight;
    if (row.y < scroller.scrollTop || row.y + row.height > scroller.scrollTop + room) scroller.scrollTop = row.y - room / 2;
    this.select(found);
  }

  private frameSelected(): void {
    if (!this.selected) return;
    const { strip: { track, shift }, at } = this.selected;
    this.setView(around(track.begin[at]! + shift, track.end[at]! + shift, this.choices.whole));
  }

  private nextInLane(direction: 1 | -1): void {
    const strip: Strip | undefined = this.selected?.strip ?? this.choices.rows.find((row) => row.strips.length > 0)?.strips[0];
    if (!strip || strip.track.index.length === 0) return;
    const at = this.selected ? this.selected.at + direction : 0;
    this.reveal({ strip, at: Math.min(strip.track.index.length - 1, Math.max(0, at)) });
  }

  private runSearch(): void {
    const text = this.search.value.trim();
    this.matches = text ? matcherOf(this.choices.all, text) : null;
    this.found = this.matches ? findSpans(this.choices.rows, this.matches) : [];
    const length = this.found.reduce((sum, { strip, at }) => sum + strip.track.end[at]! - strip.track.begin[at]!, 0);
    this.searchCount.textContent = text ? `${counted(this.found.length, 'span')}${this.found.length ? `, ${nanoseconds(length)}` : ''}` : '';
    this.stage.draw();
  }
  private nextFound(direction: 1 | -1): void {
    if (this.found.length === 0) return;
    const now = this.found.findIndex((one) => one.at === this.selected?.at && one.strip === this.selected.strip);
    this.reveal(this.found[(Math.max(now, direction < 0 ? 0 : -1) + direction + this.found.length) % this.found.length]!);
  }
}

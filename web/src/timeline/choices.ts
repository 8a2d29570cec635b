// Which timelines are shown and how: all below one another, one alone, or two laid over each other at a chosen step.
import { el, on } from '../dom';
import type { Spans } from './decode';
import { below, over, type Row, type Shown } from './rows';
import { stepsOf, type StepMark } from './steps';
import { tracksOf, type Track } from './track';
import { within, type View } from './view';

const mostPairs = 5; // timelines of which every two can be laid over each other

const option = (value: string, label: string): HTMLOptionElement => el('option', { value }, label);

function nameOf({ source }: Spans): string {
  return source.name.includes(source.origin) ? source.name : `${source.name} (${source.origin})`;
}

function optionsFor(names: string[]): HTMLOptionElement[] {
  if (names.length < 2) return [option('all', names[0] ?? '')];
  const options = [option('all', 'All, one below the other'), ...names.map((name, at) => option(`only ${at}`, `Only ${name}`))];
  if (names.length <= mostPairs)
    names.forEach((upper, first) => names.forEach((lower, second) => {
      if (first < second) options.push(option(`over ${first} ${second}`, `${upper} laid over ${lower}`));
    }));
  return options;
}

export class Choices {
  readonly which = el('select', { 'aria-label': 'Which timelines' });
  readonly step = el('select', { 'aria-label': 'Step' });
  all: Spans[] = [];
  tracks: Track[][] = [];
  rows: Row[] = [];
  steps: StepMark[] = [];
  whole = 1;

  constructor(changed: (view: View) => void) {
    on(this.which, 'change', () => {
      this.arrange();
      changed(this.viewOfStep());
    });
    on(this.step, 'change', () => {
      this.arrange();
      changed(this.viewOfStep());
    });
  }

  offer(all: Spans[]): void {
    this.all = all;
    this.tracks = all.map(tracksOf);
    const before = this.which.value;
    const options = optionsFor(all.map((spans) => spans.source.name));
    this.which.replaceChildren(...options);
    if (options.some((one) => one.value === before)) this.which.value = before;
    this.which.hidden = all.length < 2;
    this.steps = all[0] ? stepsOf(all[0]) : [];
    this.step.replaceChildren(option('', 'All steps'), ...this.steps.slice(0, 2000).map((step, at) => option(String(at), step.label)));
    this.step.hidden = this.steps.length < 2;
    this.arrange();
  }

  private arrange(): void {
    const [mode, first = 0, second = 0] = this.which.value.split(' ');
    const shown = this.all.map((spans, at): Shown => ({ name: nameOf(spans), tracks: this.tracks[at]!, shift: 0 }));
    if (mode === 'over') this.rows = this.laidOver(shown, Number(first), Number(second));
    else this.rows = below(mode === 'only' ? [shown[Number(first)]!] : shown);
    this.whole = Math.max(1, ...this.rows.flatMap((row) => row.strips.map(({ track, shift }) => (track.reach[track.reach.length - 1] ?? 0) + shift)));
  }

  // The lower one is moved to where the chosen step of the upper one begins.
  private laidOver(shown: Shown[], first: number, second: number): Row[] {
    const upper = stepsOf(this.all[first]!), lower = stepsOf(this.all[second]!);
    const step = upper[Number(this.step.value || 0)] ?? upper[0];
    const match = lower.find((one) => one.label === step?.label) ?? lower[0];
    if (step && match) shown[second]!.shift = Math.max(0, step.begin - match.begin);
    return over(shown[first]!, shown[second]!);
  }

  private viewOfStep(): View {
    const all = { begin: 0, end: this.whole };
    if (this.steps.length < 2 || (this.step.value === '' && !this.which.value.startsWith('over'))) return all;
    const at = Number(this.step.value || 0), begin = this.steps[at]!.begin, end = this.steps[at + 1]?.begin ?? this.whole;
    const margin = (end - begin) * 0.02;
    return within({ begin: begin - margin, end: end + margin }, this.whole);
  }
}

// The answer over batch and over link rate, asked for when nothing else is to do and dropped when the question changes.
import { section } from '../dom';
import { PageError, type Curves, type Question } from '../page';
import type { Shell } from '../shell';
import { curvesFigure } from '../sections/curves';
import type { Predictor } from './predictor';

const axes = ['batch=1..256', 'link=1..400'];

export class Sweeps {
  private waiting = 0;

  constructor(private readonly shell: Shell, private readonly predictor: Predictor) {}

  ask(question: Question): void {
    clearTimeout(this.waiting);
    const found: Curves[] = [];
    const next = (at: number): void => {
      if (at === axes.length) return this.show(found);
      found.push(...this.sweep({ ...question, sweep: axes[at]! }));
      this.waiting = window.setTimeout(() => next(at + 1), 0);
    };
    this.waiting = window.setTimeout(() => next(0), 250);
  }

  private sweep(question: Question): Curves[] {
    try {
      return this.predictor.ask(question).blocks.filter((block): block is Curves => block.kind === 'curves');
    } catch (error) {
      if (error instanceof PageError) return []; // an axis that these machines do not have
      throw error;
    }
  }

  private show(curves: Curves[]): void {
    const figures = curves.map(curvesFigure).filter((figure) => figure !== null);
    if (figures.length > 0) this.shell.addSection(section('curves-section', 'How it changes', ...figures), 'helps');
  }
}

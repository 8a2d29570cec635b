// When each step begins, over all ranks.
import type { Spans } from './decode';

export interface StepMark { begin: number; label: string }

export function stepsOf(spans: Spans): StepMark[] {
  const begins = new Map<number, number>();
  for (let i = 0; i < spans.count; i++) {
    const step = spans.step[i]!;
    if (step >= 0) begins.set(step, Math.min(begins.get(step) ?? Infinity, spans.begin[i]!));
  }
  return [...begins].sort(([a], [b]) => a - b).map(([step, begin]) => ({ begin, label: `step ${step}` }));
}

// Which part of the time is seen. A value: every move gives a new one that lies within the whole.

export interface View { begin: number; end: number }

const shortest = 200; // ns

export function within(view: View, whole: number): View {
  const length = Math.min(Math.max(view.end - view.begin, Math.min(shortest, whole)), whole);
  const begin = Math.min(Math.max(view.begin, 0), whole - length);
  return { begin, end: begin + length };
}

export function panned(view: View, share: number, whole: number): View {
  const by = share * (view.end - view.begin);
  return within({ begin: view.begin + by, end: view.end + by }, whole);
}

// `at` (0 to 1 of the width) stays where it is.
export function zoomed(view: View, factor: number, at: number, whole: number): View {
  const length = view.end - view.begin;
  const next = Math.min(Math.max(length * factor, Math.min(shortest, whole)), whole);
  const begin = view.begin + at * (length - next);
  return within({ begin, end: begin + next }, whole);
}

export function around(begin: number, end: number, whole: number): View {
  const margin = Math.max((end - begin) * 0.6, 50);
  return within({ begin: begin - margin, end: end + margin }, whole);
}

export function roundStep(length: number, marks: number): number {
  const rough = length / Math.max(1, marks);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= rough) ?? 10 * power;
}

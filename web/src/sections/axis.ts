// Logarithmic axes: where a value lies and which values get a mark.

export interface Axis {
  place(value: number): number;
  ticks: { value: number; text: string }[];
}

function roundValues(low: number, high: number, digits: number[]): number[] {
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const digit of digits) {
      const value = digit * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) values.push(Number(value.toPrecision(3)));
    }
  return values;
}

const range = (low: number, high: number): number => Math.log(high / low) || 1;

// Leaves out marks that would touch; the first and the last stay.
function thinned<Tick extends { value: number }>(ticks: Tick[], place: (value: number) => number, apart: number): Tick[] {
  const kept: Tick[] = [];
  for (const tick of ticks) {
    const last = kept[kept.length - 1];
    if (!last || Math.abs(place(tick.value) - place(last.value)) >= apart) kept.push(tick);
  }
  return kept;
}

const digitSets = [[1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9], [1, 1.5, 2, 3, 4, 5, 7], [1, 2, 5], [1]];

// As many of every decade as do not touch.
function roundOnes(low: number, high: number, place: (value: number) => number, apart: number): number[] {
  const touch = (values: number[]): boolean => values.some((value, at) => at > 0 && Math.abs(place(value) - place(values[at - 1]!)) < apart);
  return digitSets.map((digits) => roundValues(low, high, digits)).find((values) => !touch(values)) ?? [];
}

export function logAxis(low: number, high: number, from: number, to: number, apart: number,
                        named?: Map<number, string>): Axis {
  if (low === high) [low, high] = [low / 2, high * 2];
  const place = (value: number): number => from + ((to - from) * Math.log(value / low)) / range(low, high);
  const candidates = named
    ? [...named].sort(([a], [b]) => a - b).map(([value, text]) => ({ value, text }))
    : roundOnes(low, high, place, apart).map((value) => ({ value, text: String(value) }));
  return { place, ticks: thinned(candidates, place, apart) };
}

// Numbers as people read them. The command's own texts are shown where it gives them; these are for what the page adds.

function digits(value: number, most: number): string {
  const before = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
  const text = value.toFixed(Math.max(0, Math.min(3, most - Math.max(1, before))));
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

export function nanoseconds(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 1e9) return `${digits(ns / 1e9, 3)} s`;
  if (size >= 1e6) return `${digits(ns / 1e6, 3)} ms`;
  if (size >= 1e3) return `${digits(ns / 1e3, 3)} µs`;
  return `${Math.round(ns)} ns`;
}

export const milliseconds = (ms: number): string => (ms === 0 ? '0 ms' : nanoseconds(ms * 1e6));

export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit === 0 ? count : digits(count, 3)} ${units[unit]}`;
}

export const times = (factor: number): string => `${factor.toFixed(2)}x`;
export const plain = (value: number): string => digits(value, 3);
export const rate = (gbps: number): string => `${digits(gbps, 3)} GB/s`;

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

export function millions(parameters: number): string {
  return parameters >= 1e9 ? `${digits(parameters / 1e9, 3)} B` : `${digits(parameters / 1e6, 3)} M`;
}

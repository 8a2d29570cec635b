// Reading values whose form nobody promised.
import type { Json } from './page';

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function at(value: unknown, ...path: string[]): unknown {
  for (const name of path) {
    if (!isObject(value)) return undefined;
    value = value[name];
  }
  return value;
}

export function number(value: unknown, ...path: string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

export function text(value: unknown, ...path: string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

export function objects(value: unknown, ...path: string[]): Json[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
}

export function texts(value: unknown, ...path: string[]): string[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter((item): item is string => typeof item === 'string') : [];
}

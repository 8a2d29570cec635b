// The style sheet's colours as a canvas needs them. Read again when light and dark change.
import { partOf } from '../parts';

export interface Palette {
  ground: string;
  lane: string;
  line: string;
  text: string;
  soft: string;
  font: string;
  boldFont: string;
  solid(kinds: string[]): string[];
  inks(kinds: string[]): string[]; // of text on the colour
  faded(kinds: string[]): string[][]; // by kind, then by how full, 0 to 7
}

function channels(colour: string): [number, number, number] {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour.trim());
  return hex ? [parseInt(hex[1]!, 16), parseInt(hex[2]!, 16), parseInt(hex[3]!, 16)] : [128, 128, 128];
}

function inkOn(colour: string): string {
  const [red, green, blue] = channels(colour).map((value) => (value / 255) ** 2.2) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2 ? '#101418' : '#ffffff';
}

function mixed(colour: string, ground: string, share: number): string {
  const from = channels(ground), to = channels(colour);
  return `rgb(${from.map((value, index) => Math.round(value + (to[index]! - value) * share)).join(',')})`;
}

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  const lane = token('--lane');
  const memo = <Value>(make: (kind: string) => Value): ((kinds: string[]) => Value[]) => {
    const known = new Map<string[], Value[]>();
    return (kinds) => known.get(kinds) ?? (known.set(kinds, kinds.map(make)), known.get(kinds)!);
  };
  const colour = (kind: string): string => token(`--part-${partOf(kind)}`);
  return {
    ground: token('--surface'), lane, line: token('--line-strong'), text: token('--text'), soft: token('--text-soft'),
    font: '11px system-ui, sans-serif', boldFont: '600 12px system-ui, sans-serif',
    solid: memo(colour),
    inks: memo((kind) => inkOn(colour(kind))),
    faded: memo((kind) => Array.from({ length: 8 }, (_, cover) => mixed(colour(kind), lane, cover === 0 ? 0 : 0.3 + 0.1 * cover))),
  };
}

// Spans by name. A match is a name that holds the text, in any case; a span without a name goes by its kind. Matches are
// walked in order of time over all lanes.
import type { Spans } from './decode';
import type { Row, Strip } from './rows';

export interface Found { strip: Strip; at: number }
export type Matcher = (spans: Spans, span: number) => boolean;

const holding = (words: string[], wanted: string): Uint8Array =>
  Uint8Array.from(words, (word) => (word.toLowerCase().includes(wanted) ? 1 : 0));

export function matcherOf(all: Spans[], text: string): Matcher {
  const wanted = text.toLowerCase();
  const known = new Map(all.map((spans) => [spans, { names: holding(spans.source.names, wanted), kinds: holding(spans.source.kinds, wanted) }]));
  return (spans, span) => {
    const found = known.get(spans);
    if (!found) return false;
    const name = spans.name[span]!;
    return spans.source.names[name] ? found.names[name] === 1 : found.kinds[spans.kind[span]!] === 1;
  };
}

const beginOf = (found: Found): number => found.strip.track.begin[found.at]! + found.strip.shift;

export function findSpans(rows: Row[], matches: Matcher, most = 50_000): Found[] {
  const found: Found[] = [];
  for (const strip of rows.flatMap((row) => row.strips)) {
    const { spans, index } = strip.track;
    for (let at = 0; at < index.length && found.length < most; at++) if (matches(spans, index[at]!)) found.push({ strip, at });
  }
  return found.sort((a, b) => beginOf(a) - beginOf(b));
}

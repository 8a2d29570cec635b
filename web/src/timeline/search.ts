// Spans by name. A match is a name that holds the text, in any case; spans are walked in order of time over all lanes.
import type { Spans } from './decode';
import type { Row, Strip } from './rows';
import type { Track } from './track';

export interface Found { strip: Strip; at: number }

export function matchingNames(all: Spans[], text: string): Uint8Array[] {
  const wanted = text.toLowerCase();
  return all.map((spans) => {
    const kinds = new Set(spans.source.kinds.flatMap((kind, index) => (kind.toLowerCase().includes(wanted) ? [index] : [])));
    const found = Uint8Array.from(spans.source.names, (name) => (name.toLowerCase().includes(wanted) ? 1 : 0));
    // A span without a name of its own is called by its kind.
    if (kinds.size > 0) for (let i = 0; i < spans.count; i++) if (!spans.source.names[spans.name[i]!] && kinds.has(spans.kind[i]!)) found[spans.name[i]!] = 1;
    return found;
  });
}

const beginOf = (found: Found): number => found.strip.track.begin[found.at]! + found.strip.shift;

export function findSpans(rows: Row[], all: Spans[], matches: Uint8Array[], most = 50_000): Found[] {
  const found: Found[] = [];
  for (const row of rows)
    for (const strip of row.strips) {
      const names = matches[all.indexOf(strip.track.spans)];
      if (names) collect(strip.track, names, (at) => found.length < most && found.push({ strip, at }));
    }
  return found.sort((a, b) => beginOf(a) - beginOf(b));
}

function collect(track: Track, names: Uint8Array, take: (at: number) => void): void {
  for (let i = 0; i < track.index.length; i++) if (names[track.spans.name[track.index[i]!]!] === 1) take(i);
}

// What is said of a span: name, when, how long, bytes, bus bandwidth, and who was waited for.
import { bytes, nanoseconds, rate } from '../format';
import { partOf } from '../parts';
import type { Spans } from './decode';
import type { Track } from './track';

export type Fact = [name: string, value: string];

const isCollective = (kind: string): boolean => partOf(kind) === 'comm';

// As nccl-tests define it.
function busFactor(name: string, ranks: number): number {
  if (/all[_ ]?gather|reduce[_ ]?scatter|all[_ ]?to[_ ]?all/i.test(name)) return (ranks - 1) / ranks;
  if (/broadcast|send|recv|(^|[^l_ ])[_ ]?reduce$/i.test(name) && !/all[_ ]?reduce/i.test(name)) return 1;
  return (2 * (ranks - 1)) / ranks;
}

function ranksOf(spans: Spans): number {
  return spans.source.world ?? new Set(spans.source.lanes.map((lane) => lane.rank)).size;
}

// The same collective on other ranks: same step, name and turn in its lane. Who came last let the others wait.
const partners = new WeakMap<Spans, Map<string, { rank: number; begin: number }[]>>();

function keyed(tracks: Track[], found: (key: string, span: number, rank: number) => void): void {
  for (const track of tracks) {
    const turns = new Map<string, number>();
    for (const span of track.index) {
      const { spans } = track;
      if (!isCollective(spans.source.kinds[spans.kind[span]!]!)) continue;
      const stem = `${spans.step[span]}/${spans.name[span]}`;
      const turn = turns.get(stem) ?? 0;
      turns.set(stem, turn + 1);
      found(`${stem}/${turn}`, span, track.rank);
    }
  }
}

const keys = new WeakMap<Spans, Map<number, string>>();

function partnersOf(spans: Spans, span: number, tracks: Track[]): { rank: number; begin: number }[] {
  if (!partners.has(spans)) {
    const groups = new Map<string, { rank: number; begin: number }[]>(), names = new Map<number, string>();
    keyed(tracks.filter((track) => track.spans === spans), (key, one, rank) => {
      names.set(one, key);
      groups.set(key, [...(groups.get(key) ?? []), { rank, begin: spans.begin[one]! }]);
    });
    partners.set(spans, groups);
    keys.set(spans, names);
  }
  return partners.get(spans)!.get(keys.get(spans)!.get(span) ?? '') ?? [];
}

function waited(spans: Spans, span: number, tracks: Track[]): Fact[] {
  const told = spans.waitedFor?.[span];
  if (told !== undefined && told >= 0) return [['waited for', `rank ${told}`]];
  const all = partnersOf(spans, span, tracks);
  if (all.length < 2) return [];
  const last = all.reduce((a, b) => (b.begin > a.begin ? b : a));
  const wait = last.begin - spans.begin[span]!;
  return wait > 1000 ? [['waited for', `rank ${last.rank}, which came ${nanoseconds(wait)} later`]] : [];
}

export function factsOf(spans: Spans, span: number, tracks: Track[]): Fact[] {
  const kind = spans.source.kinds[spans.kind[span]!]!, lane = spans.source.lanes[spans.lane[span]!]!;
  const duration = spans.duration[span]!, size = spans.bytes[span]!, ready = spans.ready[span]!;
  const name = spans.source.names[spans.name[span]!] || kind;
  const facts: Fact[] = [['lasts', nanoseconds(duration)], ['begins', nanoseconds(spans.begin[span]!)],
    ['on', `rank ${lane.rank}, ${lane.name}`], ['step', String(spans.step[span])]];
  if (name !== kind) facts.splice(0, 0, ['kind', kind]);
  if (size >= 0) facts.push(['bytes', bytes(size)]);
  const told = spans.busbw?.[span] ?? -1;
  const ranks = ranksOf(spans);
  if (told >= 0) facts.push(['busbw', rate(told)]);
  else if (size > 0 && duration > 0 && ranks > 1 && isCollective(kind)) facts.push(['busbw', rate((size / duration) * busFactor(name, ranks))]);
  if (ready >= 0 && spans.begin[span]! - ready >= 1000) facts.push(['queued', `${nanoseconds(spans.begin[span]! - ready)} after its last gradient was there`]);
  if (isCollective(kind)) facts.push(...waited(spans, span, tracks));
  return facts;
}

export const nameOf = (spans: Spans, span: number): string =>
  spans.source.names[spans.name[span]!] || spans.source.kinds[spans.kind[span]!]!;

// The spans of one lane in order of begin. `reach` is the latest end so far, so that a search by time works although a
// span may lie inside another (a wait inside a backward).
import type { Spans } from './decode';

export interface Track {
  spans: Spans;
  lane: number;
  rank: number;
  name: string;
  index: Uint32Array; // into the spans
  begin: Float64Array;
  end: Float64Array;
  reach: Float64Array;
  kind: Uint16Array;
}

// The first place whose value is above the limit.
export function firstAbove(values: Float64Array, limit: number): number {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

function ordered(spans: Spans, members: Uint32Array): Uint32Array {
  const { begin, duration } = spans;
  const before = (a: number, b: number): number => begin[a]! - begin[b]! || duration[b]! - duration[a]! || a - b;
  for (let i = 1; i < members.length; i++) if (before(members[i - 1]!, members[i]!) > 0) return members.sort(before);
  return members;
}

function makeTrack(spans: Spans, lane: number, members: Uint32Array): Track {
  const index = ordered(spans, members);
  const count = index.length;
  const track: Track = { spans, lane, rank: spans.source.lanes[lane]!.rank, name: spans.source.lanes[lane]!.name, index,
    begin: new Float64Array(count), end: new Float64Array(count), reach: new Float64Array(count), kind: new Uint16Array(count) };
  let reach = -Infinity;
  for (let i = 0; i < count; i++) {
    const span = index[i]!;
    track.begin[i] = spans.begin[span]!;
    track.end[i] = spans.begin[span]! + spans.duration[span]!;
    track.reach[i] = reach = Math.max(reach, track.end[i]!);
    track.kind[i] = spans.kind[span]!;
  }
  return track;
}

// Streams by number; other lanes as they came, behind them.
const streamOf = (track: Track): number => Number(/^stream (\d+)$/.exec(track.name)?.[1] ?? Infinity) || 0;

export function tracksOf(spans: Spans): Track[] {
  const sizes = new Uint32Array(spans.source.lanes.length);
  for (let i = 0; i < spans.count; i++) sizes[spans.lane[i]!]!++;
  const members = Array.from(sizes, (size) => new Uint32Array(size));
  const filled = new Uint32Array(sizes.length);
  for (let i = 0; i < spans.count; i++) {
    const lane = spans.lane[i]!;
    members[lane]![filled[lane]!++] = i;
  }
  return members.map((own, lane) => makeTrack(spans, lane, own)).sort((a, b) => a.rank - b.rank || (streamOf(a) === streamOf(b) ? 0 : streamOf(a) - streamOf(b)) || a.lane - b.lane);
}

// The innermost span at a time, or the nearest within `slack`; -1 when there is none.
export function spanAt(track: Track, time: number, slack: number): number {
  const past = firstAbove(track.begin, time + slack);
  let best = -1, bestAway = slack;
  for (let i = past - 1; i >= 0 && track.reach[i]! >= time - slack && past - i < 4096; i--) {
    const away = Math.max(track.begin[i]! - time, time - track.end[i]!, 0);
    if (away === 0 && track.begin[i]! <= time) return i;
    if (away <= bestAway) [best, bestAway] = [i, away];
  }
  return best;
}

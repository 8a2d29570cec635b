// A track seen from afar: time cut into equal bins, and of each bin which kind fills most of it and how full it is. Each
// level has half as many bins as the one below it; a drawing takes the level whose bins are about a pixel wide, so its
// cost does not depend on how many spans there are. Bins lie still in time, so nothing flickers when it is panned.
import type { Track } from './track';

export interface Level {
  width: number; // ns of a bin
  kind: Uint16Array;
  cover: Uint8Array; // 0 to 255
}

const mostCells = 1 << 21;

function countBins(track: Track, kinds: number): number {
  let bins = 64;
  while (bins < 2 * track.index.length && 2 * bins * kinds < mostCells) bins *= 2;
  return bins;
}

function spread(track: Track, kinds: number, bins: number, width: number): Float32Array {
  const time = new Float32Array(bins * kinds);
  for (let i = 0; i < track.index.length; i++) {
    const kind = track.kind[i]!, begin = track.begin[i]!, end = track.end[i]!;
    const last = Math.min(bins - 1, Math.floor(end / width));
    for (let bin = Math.max(0, Math.floor(begin / width)); bin <= last; bin++)
      time[bin * kinds + kind]! += Math.min(end, (bin + 1) * width) - Math.max(begin, bin * width);
  }
  return time;
}

function levelOf(time: Float32Array, kinds: number, bins: number, width: number): Level {
  const level: Level = { width, kind: new Uint16Array(bins), cover: new Uint8Array(bins) };
  for (let bin = 0; bin < bins; bin++) {
    let sum = 0, most = 0;
    for (let kind = 0; kind < kinds; kind++) {
      const share = time[bin * kinds + kind]!;
      sum += share;
      if (share > most) {
        most = share;
        level.kind[bin] = kind;
      }
    }
    level.cover[bin] = sum > 0 ? Math.max(1, Math.min(255, Math.round((255 * sum) / width))) : 0;
  }
  return level;
}

function fold(time: Float32Array, kinds: number, bins: number): void {
  for (let bin = 0; bin < bins / 2; bin++)
    for (let kind = 0; kind < kinds; kind++)
      time[bin * kinds + kind] = time[2 * bin * kinds + kind]! + time[(2 * bin + 1) * kinds + kind]!;
}

// Finest first. `whole` is the time that all tracks share, from 0.
export function levelsOf(track: Track, whole: number): Level[] {
  const kinds = track.spans.source.kinds.length;
  let bins = countBins(track, kinds), width = whole / bins;
  const time = spread(track, kinds, bins, width);
  const levels: Level[] = [];
  for (;;) {
    levels.push(levelOf(time, kinds, bins, width));
    if (bins <= 64) return levels;
    fold(time, kinds, bins);
    bins /= 2;
    width *= 2;
  }
}

const known = new WeakMap<Track, { whole: number; levels: Level[] }>();

export function levelFor(track: Track, whole: number, nsPerPixel: number): Level | null {
  let entry = known.get(track);
  if (entry?.whole !== whole) known.set(track, (entry = { whole, levels: levelsOf(track, whole) }));
  let best: Level | null = null;
  for (const level of entry.levels) if (level.width <= nsPerPixel * 1.01) best = level;
  return best;
}

// Which lanes are drawn where. Timelines stand below one another, or two of them are laid over each other: then each lane
// of a rank is split, the first above and the second below, both from the begin of their step.
import type { Track } from './track';

export interface Strip {
  track: Track;
  shift: number; // ns added to its times
  top: number;
  height: number;
}
export interface Row {
  y: number;
  height: number;
  label: string;
  heading: boolean;
  strips: Strip[];
}
export interface Shown { name: string; tracks: Track[]; shift: number }

const headingHeight = 22;
const laneHeight = (lanes: number): number => (lanes > 40 ? 14 : 20);

const keyOf = (track: Track): string => JSON.stringify([track.rank, track.name]);
const labelOf = (track: Track, ranks: number): string => (ranks > 1 ? `rank ${track.rank} ${track.name}` : track.name);
const rankCount = (tracks: Track[]): number => new Set(tracks.map((track) => track.rank)).size;

function heading(y: number, label: string): Row {
  return { y, height: headingHeight, label, heading: true, strips: [] };
}

export function below(all: Shown[]): Row[] {
  const rows: Row[] = [];
  const height = laneHeight(all.reduce((sum, one) => sum + one.tracks.length, 0));
  let y = 0;
  for (const { name, tracks, shift } of all) {
    if (all.length > 1) {
      rows.push(heading(y, name));
      y += headingHeight;
    }
    const ranks = rankCount(tracks);
    let last = tracks[0]?.rank;
    for (const track of tracks) {
      if (track.rank !== last) y += 4;
      last = track.rank;
      rows.push({ y, height, label: labelOf(track, ranks), heading: false, strips: [{ track, shift, top: 0, height: height - 2 }] });
      y += height;
    }
    y += 6;
  }
  return rows;
}

export function over(upper: Shown, lower: Shown): Row[] {
  const rows: Row[] = [];
  const others = new Map(lower.tracks.map((track) => [keyOf(track), track]));
  const half = 12;
  let y = 0;
  const row = (label: string, first: Track | undefined, second: Track | undefined): void => {
    const strips: Strip[] = [];
    if (first) strips.push({ track: first, shift: upper.shift, top: 0, height: half });
    if (second) strips.push({ track: second, shift: lower.shift, top: half + 1, height: half });
    rows.push({ y, height: 2 * half + 7, label, heading: false, strips });
    y += 2 * half + 7;
  };
  const ranks = Math.max(rankCount(upper.tracks), rankCount(lower.tracks));
  for (const track of upper.tracks) {
    row(labelOf(track, ranks), track, others.get(keyOf(track)));
    others.delete(keyOf(track));
  }
  for (const track of others.values()) row(labelOf(track, ranks), undefined, track);
  return rows;
}

export const heightOf = (rows: Row[]): number => {
  const last = rows[rows.length - 1];
  return last ? last.y + last.height + 4 : 0;
};

// What a page shows. The command writes one into the file; the predictor answers with one. Everything in it came from
// somewhere else (traces, logs, file names), so it is checked before it is drawn and only ever shown as text.

export interface PageData {
  schema: 1;
  verb: string;
  command: string;
  version: string;
  title: string;
  blocks: Block[];
  data: Json;
  timelines: PageTimeline[];
  topologies: PageTopology[];
  question?: Question;
}

export type Json = { [name: string]: unknown };

export type Point = [x: number, y: number, xText: string, yText: string, low?: number, high?: number];

export interface Title { kind: 'title'; text: string }
export interface Sentence { kind: 'sentence'; text: string }
export interface Gap { kind: 'gap' }
export interface Table { kind: 'table'; rows: string[][]; left: number; prose_last: boolean }
export interface Grid { kind: 'grid'; rows: string[]; columns: string[]; cells: string[][] }
export interface Bars {
  kind: 'bars';
  parts: { name: string; mark: string; in_legend: boolean }[];
  bars: { name: string; label: string; values: number[] }[];
}
export interface Curves {
  kind: 'curves';
  title: string;
  x: string;
  y: string;
  series: { name: string; points: Point[] }[];
}
export interface Drawing { kind: 'drawing'; text: string }
export type Block = Title | Sentence | Gap | Table | Grid | Bars | Curves | Drawing;

export interface PageTimeline {
  name: string;
  origin: 'measured' | 'predicted';
  lanes: { rank: number; name: string }[];
  kinds: string[];
  names: string[];
  count: number;
  columns: { [column: string]: string };
  world?: number;
}

export interface PageTopology {
  name: string;
  narrowest?: string;
  nodes: TopologyNode[];
  links: TopologyLink[];
}
export interface TopologyNode {
  id: string;
  kind: string;
  name: string;
  host: number;
  parent?: string;
}
export interface TopologyLink {
  a: string;
  b: string;
  kind: string;
  gbps: number;
  load?: number;
  narrowest?: boolean;
  text: string;
}

export type AskedMachine = string | PastedMachine;
export interface PastedMachine { name: string; matrix?: string; gpu?: string; yaml?: object } // name: "2*pasted.txt@10gbe"

// Named as the flags of `gradwire compare`; what the panel has no knob for stays as it came.
export interface Question {
  [flag: string]: unknown;
  model: string | Json;
  machines: AskedMachine[];
  batch?: number;
  accumulate?: number;
  precision?: string;
  bucket_mb?: number;
  compress?: string;
  step_ms?: number;
  sequence?: number;
  sweep?: string;
}

export class PageError extends Error {}

// The parts that every later reader walks are lists; what they hold is looked at where it is drawn.
export function parsePage(value: unknown): PageData {
  if (typeof value !== 'object' || value === null) throw new PageError('this page holds no answer');
  const page = value as Partial<PageData>;
  if (page.schema !== 1) throw new PageError(`this page holds data of form ${String(page.schema)}, and reads form 1`);
  return {
    ...page,
    schema: 1,
    verb: String(page.verb ?? ''),
    command: String(page.command ?? ''),
    version: String(page.version ?? ''),
    title: String(page.title ?? 'Gradwire'),
    blocks: Array.isArray(page.blocks) ? page.blocks : [],
    data: typeof page.data === 'object' && page.data !== null ? page.data : {},
    timelines: Array.isArray(page.timelines) ? page.timelines : [],
    topologies: Array.isArray(page.topologies) ? page.topologies : [],
  };
}

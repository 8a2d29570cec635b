// Columns as the page carries them (differences, raw deflate, base64) to typed arrays.
import { PageError, type PageTimeline } from '../page';

export interface Spans {
  source: PageTimeline;
  count: number;
  lane: Int32Array;
  kind: Int32Array;
  name: Int32Array;
  step: Int32Array;
  begin: Float64Array;
  duration: Int32Array | Float64Array;
  bytes: Float64Array;
  ready: Float64Array;
  waitedFor: Int32Array | null;
  busbw: Float64Array | null;
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const result = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) result[i] = binary.charCodeAt(i);
  return result;
}

// Deflate that only stores, as the predictor writes it: blocks of a byte, a length, its complement and the bytes. Null for
// any other. Faster than a stream, and without waiting.
export function unstored(packed: Uint8Array<ArrayBuffer>): ArrayBuffer | null {
  const parts: Uint8Array[] = [];
  for (let at = 0; ;) {
    if (at + 5 > packed.length || (packed[at]! & 6) !== 0) return null;
    const length = packed[at + 1]! | (packed[at + 2]! << 8), check = packed[at + 3]! | (packed[at + 4]! << 8);
    if ((length ^ check) !== 0xffff || at + 5 + length > packed.length) return null;
    parts.push(packed.subarray(at + 5, at + 5 + length));
    if ((packed[at]! & 1) === 1) break;
    at += 5 + length;
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let filled = 0;
  for (const part of parts) {
    whole.set(part, filled);
    filled += part.length;
  }
  return whole.buffer;
}

export async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stored = unstored(packed);
  if (stored) return stored;
  return new Response(new Response(packed).body!.pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer();
}

function summed<Column extends Int32Array | Float64Array>(differences: Column): Column {
  for (let i = 1; i < differences.length; i++) differences[i]! += differences[i - 1]!;
  return differences;
}

// A browser is little endian, as the columns are.
async function column<Column extends Int32Array | Float64Array>(
  timeline: PageTimeline, name: string, make: { new (buffer: ArrayBuffer): Column; BYTES_PER_ELEMENT: number },
): Promise<Column> {
  const text = timeline.columns[name];
  if (typeof text !== 'string') throw new PageError(`timeline "${timeline.name}" has no column ${name}`);
  const buffer = await inflate(fromBase64(text));
  if (buffer.byteLength !== timeline.count * make.BYTES_PER_ELEMENT)
    throw new PageError(`timeline "${timeline.name}": column ${name} has ${buffer.byteLength} bytes for ${timeline.count} spans`);
  return summed(new make(buffer));
}

// 32 bits, or a float where some span lasts longer than two seconds.
async function durations(timeline: PageTimeline): Promise<Int32Array | Float64Array> {
  const buffer = await inflate(fromBase64(String(timeline.columns['duration_ns'] ?? '')));
  const wide = timeline.count > 0 && buffer.byteLength === timeline.count * 8;
  return wide ? summed(new Float64Array(buffer)) : column(timeline, 'duration_ns', Int32Array);
}

function checkIndices(name: string, indices: Int32Array, size: number): void {
  for (let i = 0; i < indices.length; i++)
    if (indices[i]! < 0 || indices[i]! >= size) throw new PageError(`a span of the timeline names ${name} ${indices[i]} of ${size}`);
}

export async function decodeTimeline(source: PageTimeline): Promise<Spans> {
  const whole = (name: string): Promise<Int32Array> => column(source, name, Int32Array);
  const real = (name: string): Promise<Float64Array> => column(source, name, Float64Array);
  const [lane, kind, name, step, begin, duration, bytes, ready, waitedFor, busbw] = await Promise.all([
    whole('lane'), whole('kind'), whole('name'), whole('step'), real('begin_ns'), durations(source), real('bytes'), real('ready_ns'),
    'waited_for' in source.columns ? whole('waited_for') : null, 'busbw' in source.columns ? real('busbw') : null]);
  checkIndices('lane', lane, source.lanes.length);
  checkIndices('kind', kind, source.kinds.length);
  checkIndices('name', name, source.names.length);
  return { source, count: source.count, lane, kind, name, step, begin, duration, bytes, ready, waitedFor, busbw };
}

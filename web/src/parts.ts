// One colour for one meaning, wherever it is drawn: bars, timeline, legend. The colours themselves are in style/tokens.css
// (chosen to be told apart with any kind of colour vision); a kind nobody foresaw gets one of the spare ones.

const kinds: { [name: string]: string } = {
  data: 'data', 'waiting for input': 'data', input: 'data', dataloader: 'data',
  forward: 'forward',
  backward: 'backward',
  kernel: 'forward', compute: 'backward', computing: 'backward', host: 'data',
  slowed: 'slowed',
  exposed: 'exposed', 'communication exposed': 'exposed', comm_exposed: 'exposed', wait: 'exposed',
  bucket: 'comm', collective: 'comm', communication: 'comm', nccl: 'comm', comm: 'comm', comm_overlapped: 'comm',
  optimizer: 'optimizer',
  copies: 'copies', copy: 'copies', memcpy: 'copies', memset: 'copies',
  idle: 'idle', sync: 'idle',
  other: 'other',
};
const spare = ['spare-1', 'spare-2', 'spare-3', 'spare-4'];

export function partOf(kind: string): string {
  const known = kinds[kind.toLowerCase()];
  if (known) return known;
  let sum = 0;
  for (const letter of kind) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  return spare[sum % spare.length]!;
}

export const inkOn = (kind: string): string => `var(--ink-${partOf(kind)}, #0b1116)`;
export const colourOf = (kind: string): string => `var(--part-${partOf(kind)})`;

// What breakdown_ms of the JSON calls the parts of a step, in the order they are drawn, and what people call them.
export const stepParts: [key: string, name: string][] = [
  ['data', 'waiting for input'],
  ['copies', 'copies'],
  ['forward', 'forward'],
  ['backward', 'backward'],
  ['comm_exposed', 'exposed'],
  ['optimizer', 'optimizer'],
  ['other', 'other'],
  ['idle', 'idle'],
];

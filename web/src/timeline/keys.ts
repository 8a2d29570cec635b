// Keys as in Perfetto: w and s zoom, a and d or the arrows pan, for as long as they are held; f frames what is selected.
export interface Moves {
  pan(share: number): void;
  zoom(factor: number): void;
  frame(): void;
  whole(): void;
  next(direction: 1 | -1): void;
  search(): void;
  clear(): void;
}

const panKeys: { [key: string]: number } = { a: -1, d: 1, ArrowLeft: -1, ArrowRight: 1 };
const zoomKeys: { [key: string]: number } = { w: -1, s: 1, '+': -1, '=': -1, '-': 1 };

export function listenToKeys(target: HTMLElement, moves: Moves): void {
  const held = new Set<string>();
  let last = 0;
  const move = (key: string, seconds: number): void => {
    if (key in panKeys) moves.pan(panKeys[key]! * seconds);
    if (key in zoomKeys) moves.zoom(6 ** (zoomKeys[key]! * seconds));
  };
  const turn = (now: number): void => {
    if (held.size === 0) return;
    const seconds = Math.min(0.05, (now - last) / 1000);
    last = now;
    held.forEach((key) => move(key, seconds));
    requestAnimationFrame(turn);
  };
  const single: { [key: string]: () => void } = {
    f: moves.frame, '0': moves.whole, Home: moves.whole, '/': moves.search, Escape: moves.clear,
    '.': () => moves.next(1), ',': () => moves.next(-1),
  };
  target.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!(key in panKeys) && !(key in zoomKeys) && !(key in single)) return;
    event.preventDefault();
    if (event.repeat) return;
    if (key in single) return single[key]!();
    move(key, 0.12); // a tap moves visibly
    last = performance.now();
    if (held.size === 0) requestAnimationFrame(turn);
    held.add(key);
  });
  target.addEventListener('keyup', (event) => held.delete(event.key.length === 1 ? event.key.toLowerCase() : event.key));
  target.addEventListener('blur', () => held.clear());
}

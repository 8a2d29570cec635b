// Mouse, pen and fingers on the timeline: drag pans, two fingers or Ctrl and wheel zoom, a click selects.
export interface Touches {
  pan(pixels: number): void;
  zoom(factor: number, x: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  select(x: number, y: number): void;
  doubled(x: number, y: number): void;
  wheelWithout(): void; // a wheel that scrolls the page: tell how to zoom
}

export function listenToPointer(target: HTMLElement, touches: Touches): void {
  const down = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const place = (event: MouseEvent): { x: number; y: number } => {
    const box = target.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spreadOf = (): number => {
    const [first, second] = [...down.values()];
    return first && second ? Math.max(10, Math.abs(first.x - second.x)) : 0;
  };
  target.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, place(event));
    moved = 0;
    target.setPointerCapture(event.pointerId);
  });
  target.addEventListener('pointermove', (event) => {
    const now = place(event), before = down.get(event.pointerId);
    if (!before) return touches.hover(now.x, now.y);
    const apart = spreadOf();
    down.set(event.pointerId, now);
    moved += Math.abs(now.x - before.x);
    if (down.size === 1) touches.pan(before.x - now.x);
    else if (apart > 0) touches.zoom(apart / spreadOf(), [...down.values()].reduce((sum, one) => sum + one.x, 0) / down.size);
  });
  const up = (event: PointerEvent): void => {
    const was = down.delete(event.pointerId);
    if (was && event.type === 'pointerup' && moved < 4) touches.select(place(event).x, place(event).y);
  };
  target.addEventListener('pointerup', up);
  target.addEventListener('pointercancel', up);
  target.addEventListener('pointerleave', () => touches.leave());
  target.addEventListener('dblclick', (event) => touches.doubled(place(event).x, place(event).y));
  target.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      touches.zoom(Math.exp(event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.003)), place(event).x);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      touches.pan(event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX);
    } else touches.wheelWithout();
  }, { passive: false });
}

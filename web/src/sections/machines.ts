// The machines as pictures, side by side where there is room.
import { el, section } from '../dom';
import { machineFigure } from '../topology/drawing';
import type { Reading } from '../reading';

export function machinesSection(reading: Reading): HTMLElement | null {
  const topologies = reading.page.topologies.filter((topology) =>
    Array.isArray(topology.nodes) && Array.isArray(topology.links) && topology.nodes.length > 0);
  if (topologies.length === 0) return null;
  const loaded = topologies.some((topology) => topology.links.some((link) => link.load !== undefined));
  return section('machines', loaded ? 'What each link carries during all-reduce' : 'The machine',
    el('p', { class: 'note' }, `Numbers are GB/s one way${loaded ? '; a thicker line is a busier link, ▸ marks the narrowest' : ''}.`),
    el('div', { class: topologies.length > 1 ? 'topologies several' : 'topologies' }, ...topologies.map(machineFigure)));
}

// What the report says and no section above showed.
import { el, section } from '../dom';
import type { Reading } from '../reading';
import { blockElements } from './blocks';

export function restSection(reading: Reading): HTMLElement | null {
  const groups = reading.groups.map((group) => reading.left(group.blocks))
    .filter((blocks) => blocks.some((block) => block.kind !== 'title'));
  if (groups.length === 0) return null;
  return section('rest', reading.page.verb === 'bench' || reading.page.verb === 'topo' ? 'In figures' : 'More of the report',
    ...groups.map((blocks) => el('div', { class: 'group' }, ...blockElements(blocks))));
}

// What was assumed and how sure the answer is.
import { el, section } from '../dom';
import { objects, text, texts } from '../json';
import type { Reading } from '../reading';

// One line an assumption, with the machines it was made for.
function assumptions(reading: Reading): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const machine of objects(reading.page.data, 'machines'))
    for (const assumed of texts(machine, 'assumed'))
      all.set(assumed, [...(all.get(assumed) ?? []), text(machine, 'on')]);
  for (const assumed of texts(reading.page.data, 'assumed')) all.set(assumed, []);
  for (const note of texts(reading.page.data, 'notes')) all.set(note, []);
  return all;
}

function useSaid(reading: Reading, said: Iterable<string>): void {
  for (const line of said)
    for (const block of reading.leftOf('sentence'))
      if (block.text.includes(line) && block.text.length < line.length + 20) reading.use(block);
  const notes = reading.groupTitled('Note');
  if (notes && reading.left(notes.blocks).every((block) => block.kind === 'title')) reading.use(...notes.blocks);
}

export function sureSection(reading: Reading): HTMLElement | null {
  const assumed = assumptions(reading);
  const sure = reading.sentenceBeginning('How sure:');
  if (assumed.size === 0 && !sure) return null;
  useSaid(reading, assumed.keys());
  const count = objects(reading.page.data, 'machines').length;
  return section('sure', sure ? 'How sure, and what was assumed' : 'What was assumed',
    sure ? el('p', {}, sure.replace(/^How sure: (.)/, (_, first: string) => first.toUpperCase())) : null,
    assumed.size > 0 ? el('ul', {}, ...[...assumed].map(([line, machines]) =>
      el('li', {}, line, machines.length > 0 && machines.length < count
        ? el('span', { class: 'note' }, ` (${machines.join(', ')})`) : null))) : null);
}

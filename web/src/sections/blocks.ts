// Any block as it is. What no section knows better is shown by these.
import { el, type Child } from '../dom';
import type { Block, Drawing, Grid, Sentence, Table } from '../page';
import { stackedBars } from './bars';
import { curvesFigure } from './curves';

function tableElement(table: Table): HTMLElement {
  const [head = [], ...rows] = table.rows;
  const last = head.length - 1;
  const side = (column: number): string =>
    column < table.left || (table.prose_last && column === last) ? 'left' : 'right';
  const row = (cells: string[], tag: 'td' | 'th'): HTMLElement =>
    el('tr', {}, ...cells.map((cell, column) => {
      const prose = table.prose_last && column === last ? ' prose' : '';
      const asHead = tag === 'th' && cell.trim() !== '';
      return el(asHead ? 'th' : 'td', { class: side(column) + prose, scope: asHead ? 'col' : undefined }, cell.trim());
    }));
  return scrolling('Table', el('table', {}, el('thead', {}, row(head, 'th')),
    el('tbody', {}, ...rows.map((cells) => row(cells, 'td')))));
}

function gridElement(grid: Grid): HTMLElement {
  const head = el('tr', {}, el('td'), ...grid.columns.map((name) => el('th', { scope: 'col' }, name)));
  const rows = grid.rows.map((name, index) => el('tr', {}, el('th', { scope: 'row' }, name),
    ...(grid.cells[index] ?? []).map((cell) => el('td', {}, cell))));
  return scrolling('Grid', el('table', { class: 'grid' }, el('thead', {}, head), el('tbody', {}, ...rows)));
}

// Wide things scroll by themselves, with the keyboard too, and leave the page as wide as the screen.
export function scrolling(label: string, child: Child): HTMLElement {
  return el('div', { class: 'scrolling', tabindex: 0, role: 'region', 'aria-label': label }, child);
}

// Without what sets a line of comment apart in a terminal.
export const plainText = (text: string): string => text.trim().replace(/^# /, '');

const sentenceElement = (sentence: Sentence): HTMLElement => el('p', {}, plainText(sentence.text));
const drawingElement = (drawing: Drawing): HTMLElement =>
  scrolling('Drawing', el('pre', {}, drawing.text.replace(/\s+$/, '')));

export function blockElement(block: Block): HTMLElement | null {
  switch (block.kind) {
    case 'title': return el('h3', {}, block.text);
    case 'sentence': return sentenceElement(block);
    case 'table': return tableElement(block);
    case 'grid': return gridElement(block);
    case 'bars': return stackedBars(block);
    case 'curves': return curvesFigure(block);
    case 'drawing': return drawingElement(block);
    default: return null;
  }
}

export const blockElements = (blocks: Block[]): HTMLElement[] =>
  blocks.map(blockElement).filter((element): element is HTMLElement => element !== null);

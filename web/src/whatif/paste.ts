// A window to paste a machine or a model into. A matrix stays text, the predictor reads it; YAML is read here.
import { parse } from 'yaml';
import { button, el, on } from '../dom';
import { isObject } from '../json';
import type { AskedMachine, Json } from '../page';
import { chooser, labelled } from './fields';
import type { Choice } from './predictor';

export function readYaml(text: string): Json {
  const value: unknown = parse(text, { maxAliasCount: 50 });
  if (!isObject(value)) throw new Error('that is no YAML of names and values');
  return value;
}

// A saved `nvidia-smi topo -m` has a head of GPU0, GPU1 ...
export const isMatrix = (text: string): boolean => /^\s*(?:\S+\s+)?GPU0\b/m.test(text);

function dialogWith(title: string, hint: string, extra: HTMLElement[], take: (text: string) => void): void {
  const area = el('textarea', { rows: 12, spellcheck: false, 'aria-label': title, placeholder: hint });
  const problem = el('p', { class: 'failure', role: 'alert', hidden: true });
  const use = (): void => {
    try {
      take(area.value);
      dialog.close();
    } catch (error) {
      problem.textContent = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      problem.hidden = false;
    }
  };
  const dialog = el('dialog', { class: 'offer', 'aria-label': title }, el('h2', {}, title), area, ...extra, problem,
    el('div', { class: 'buttons' }, button('Use it', use, { class: 'primary' }), button('Cancel', () => dialog.close())));
  on(dialog, 'close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function pasteMachine(gpus: Choice[], taken: (machine: AskedMachine) => void): void {
  let gpu = '';
  const which = chooser([{ id: '', name: 'which GPU? (a matrix does not say)' }, ...gpus], '', (value) => (gpu = value));
  dialogWith('Paste a machine', 'What nvidia-smi topo -m prints, or a machine in YAML (docs/machines.md)', [labelled('GPU, for a matrix', which)], (text) => {
    if (text.trim() === '') throw new Error('nothing was pasted');
    if (isMatrix(text)) {
      if (!gpu) throw new Error('say which GPU the matrix is about');
      return taken({ name: 'pasted.txt', matrix: text, gpu });
    }
    const yaml = readYaml(text);
    taken({ name: 'pasted.yaml', yaml });
  });
}

export function pasteModel(taken: (model: Json) => void): void {
  dialogWith('Paste a model', 'name: my-net\nfamily: transformer\nparameters: 350000000', [], (text) => {
    const model = readYaml(text);
    if (!('parameters' in model) && !('layers' in model)) throw new Error('a model has layers, or at least parameters');
    taken({ name: 'pasted', ...model });
  });
}

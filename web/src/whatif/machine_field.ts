// One machine of the question: a name to search or type, and knobs that write the name.
import { button, el, freshId, on } from '../dom';
import type { AskedMachine } from '../page';
import { chooser, labelled, plainField } from './fields';
import { baseName, baseParts, links, putTogether, takeApart, type BaseParts } from './machine_name';
import type { Catalog, Choice } from './predictor';

const plainLinks: { [link: string]: string } = { nvlink: 'NVLink', nvswitch: 'NVSwitch', pcie: 'PCIe alone' };

function numberInput(value: number, changed: (value: number) => void): HTMLInputElement {
  const input = el('input', { type: 'number', min: 1, max: 4096, step: 1, inputmode: 'numeric' });
  input.value = String(value);
  return on(input, 'input', () => {
    if (input.checkValidity() && input.value !== '') changed(Number(input.value));
  });
}

// What a preset is made of, so that its knobs begin where it stands.
function partsOf(base: string, catalog: Catalog): BaseParts {
  const gpus = catalog.gpus.map((gpu) => gpu.id);
  const named = baseParts(base, gpus);
  if (named) return named;
  const preset = catalog.machines.find((machine) => machine.id === base);
  const link = /nvswitch/i.test(preset?.link ?? '') ? 'nvswitch' : /nvlink|mesh|pairs/i.test(preset?.link ?? '') ? 'nvlink' : 'pcie';
  return { count: preset?.gpus ?? 2, gpu: preset?.gpu ?? gpus[0] ?? '', link };
}

function knobs(name: string, catalog: Catalog, write: (name: string) => void): HTMLElement {
  const whole = takeApart(name);
  const base = partsOf(whole.base, catalog);
  const withBase = (change: Partial<BaseParts>): void => {
    Object.assign(base, change);
    if (base.count > 1 && !base.link) base.link = 'pcie';
    whole.base = baseName(base);
    write(putTogether(whole));
  };
  const linkChoices: Choice[] = links.map((id) => ({ id, name: plainLinks[id]! }));
  const networks = [{ id: '', name: 'as the machine has it' }, ...catalog.networks];
  return el('div', { class: 'knob-grid' },
    labelled('GPUs', numberInput(base.count, (count) => withBase({ count }))),
    labelled('GPU', chooser(catalog.gpus, base.gpu, (gpu) => withBase({ gpu }))),
    labelled('Link', chooser(linkChoices, base.link, (link) => withBase({ link }))),
    labelled('Hosts', numberInput(whole.nodes, (nodes) => {
      whole.nodes = nodes;
      if (nodes > 1 && !whole.network && !catalog.machines.some((machine) => machine.id === whole.base)) whole.network = '10gbe';
      write(putTogether(whole));
    })),
    labelled('Network', chooser(networks, whole.network, (network) => {
      whole.network = network;
      whole.nodes = Math.max(2, whole.nodes);
      write(putTogether(whole));
    })));
}

export interface MachineField {
  machine: AskedMachine;
  at: number;
  catalog: Catalog;
  list: string; // id of the datalist of presets
  changed(machine: AskedMachine): void;
  remove: (() => void) | null;
}

export function machineField({ machine, at, catalog, list, changed, remove }: MachineField): HTMLElement {
  const close = remove ? button('Remove', remove, { class: 'quiet small', 'aria-label': `Remove machine ${at + 1}` }) : null;
  const legend = el('legend', {}, `Machine ${at + 1}`);
  if (typeof machine !== 'string') return el('fieldset', { class: 'machine-field' }, legend, el('p', {}, machine.name), close);
  const input = el('input', { type: 'text', list, spellcheck: false, autocomplete: 'off', id: freshId('machine') });
  input.value = machine;
  const held = el('div');
  const refresh = (name: string): void => held.replaceChildren(knobs(name, catalog, (next) => {
    input.value = next;
    changed(next);
  }));
  on(input, 'change', () => {
    if (input.value.trim() === '') return;
    refresh(input.value.trim());
    changed(input.value.trim());
  });
  // A name taken from the list is whole at once.
  on(input, 'input', () => {
    if (!catalog.machines.some((preset) => preset.id === input.value)) return;
    refresh(input.value);
    changed(input.value);
  });
  refresh(machine);
  return el('fieldset', { class: 'machine-field' }, legend, plainField(`Name of machine ${at + 1}`, input), held, close);
}

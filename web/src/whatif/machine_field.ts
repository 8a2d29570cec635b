// One machine of the question: a name to search or type, and knobs that write the name.
import { button, el, freshId, on, type Child } from '../dom';
import type { AskedMachine } from '../page';
import { chooser, labelled, plainField } from './fields';
import { baseName, baseParts, putTogether, takeApart, type BaseParts, type MachineParts } from './machine_name';
import type { Catalog, Choice } from './predictor';

const linkNames: { [link: string]: string } = { nvlink: 'NVLink', nvswitch: 'NVSwitch', pcie: 'PCIe alone' };

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

const linksOf = (gpu: string, catalog: Catalog): string[] => catalog.gpus.find((one) => one.id === gpu)?.links ?? Object.keys(linkNames);

function gpuKnobs(whole: MachineParts, catalog: Catalog, write: (rebuild: boolean) => void): Child[] {
  const base = partsOf(whole.base, catalog);
  const change = (part: Partial<BaseParts>): void => {
    Object.assign(base, part);
    const links = linksOf(base.gpu, catalog);
    if (base.count > 1 && !links.some((link) => base.link.startsWith(link))) base.link = links.includes('nvswitch') ? 'nvswitch' : links[0]!;
    whole.base = baseName(base);
    write(part.gpu !== undefined);
  };
  const links: Choice[] = linksOf(base.gpu, catalog).map((id) => ({ id, name: linkNames[id] ?? id }));
  return [labelled('GPUs', numberInput(base.count, (count) => change({ count }))),
    labelled('GPU', chooser(catalog.gpus, base.gpu, (gpu) => change({ gpu }))),
    labelled('Link', chooser(links, base.count > 1 ? base.link : '', (link) => change({ link })))];
}

function hostKnobs(whole: MachineParts, catalog: Catalog, write: (rebuild: boolean) => void): Child[] {
  // Machines that are sold whole have network cards; cards that somebody put into a box have none.
  const hasOwn = baseParts(whole.base, catalog.gpus.map((gpu) => gpu.id)) === null && catalog.machines.some((machine) => machine.id === whole.base);
  const networks = [{ id: '', name: whole.nodes > 1 ? 'its own' : 'none needed' }, ...catalog.networks];
  return [labelled('Hosts', numberInput(whole.nodes, (nodes) => {
    const rebuild = (nodes > 1) !== (whole.nodes > 1);
    whole.nodes = nodes;
    if (nodes > 1 && !whole.network && !hasOwn) whole.network = catalog.networks.find((one) => one.id === '10gbe')?.id ?? catalog.networks[0]?.id ?? '';
    write(rebuild);
  })), labelled('Network', chooser(networks, whole.nodes > 1 ? whole.network : '', (network) => {
    whole.network = network;
    whole.nodes = network ? Math.max(2, whole.nodes) : whole.nodes;
    write(true);
  }))];
}

export interface MachineField {
  machine: AskedMachine;
  at: number;
  catalog: Catalog;
  list: string; // id of the datalist of presets
  changed(machine: AskedMachine): void;
  remove: (() => void) | null;
}

// Knobs that change which others make sense are drawn anew; the one in use keeps the keyboard.
function knobs(field: MachineField, name: string, write: (name: string) => void): HTMLElement {
  const grid = el('div', { class: 'knob-grid' });
  const whole = takeApart(name);
  const pasted = typeof field.machine !== 'string';
  const fill = (): void => {
    const at = [...grid.querySelectorAll('input, select')].indexOf(document.activeElement!);
    const wrote = (rebuild: boolean): void => {
      write(putTogether(whole));
      if (rebuild) fill();
    };
    grid.replaceChildren(...([...(pasted ? [] : gpuKnobs(whole, field.catalog, wrote)), ...hostKnobs(whole, field.catalog, wrote)] as Node[]));
    if (at >= 0) [...grid.querySelectorAll<HTMLElement>('input, select')][at]?.focus();
  };
  fill();
  return grid;
}

export function machineField(field: MachineField): HTMLElement {
  const { machine, at, catalog, list, changed, remove } = field;
  const close = remove ? button('Remove', remove, { class: 'quiet small', 'aria-label': `Remove machine ${at + 1}` }) : null;
  const legend = el('legend', {}, `Machine ${at + 1}`);
  if (typeof machine !== 'string') {
    const title = `${machine.matrix === undefined ? 'a machine in YAML' : 'a matrix'}, pasted${machine.gpu ? ` (${machine.gpu})` : ''}`;
    return el('fieldset', { class: 'machine-field' }, legend, el('p', {}, title), knobs(field, machine.name, (name) => changed({ ...machine, name })), close);
  }
  const input = el('input', { type: 'text', list, spellcheck: false, autocomplete: 'off', id: freshId('machine'), placeholder: 'search, or 2x-rtx3090-nvlink' });
  input.value = machine;
  const held = el('div');
  const refresh = (name: string): void => held.replaceChildren(knobs(field, name, (next) => {
    input.value = next;
    changed(next);
  }));
  const take = (): void => {
    if (input.value.trim() === '') return;
    refresh(input.value.trim());
    changed(input.value.trim());
  };
  on(input, 'change', take);
  // A name taken from the list is whole at once.
  on(input, 'input', () => catalog.machines.some((preset) => preset.id === input.value) && take());
  refresh(machine);
  return el('fieldset', { class: 'machine-field' }, legend, plainField(`Name of machine ${at + 1}`, input), held, close);
}

// Small parts of the form.
import { button, el, freshId, on, type Child } from '../dom';
import type { Choice } from './predictor';

export function labelled(label: string, control: HTMLElement, ...more: Child[]): HTMLElement {
  const id = control.id || freshId('field');
  control.id = id;
  return el('div', { class: 'field' }, el('label', { for: id }, label), control, ...more);
}

// Alone under a heading that says the same.
export function plainField(label: string, control: HTMLElement): HTMLElement {
  control.setAttribute('aria-label', label);
  return el('div', { class: 'field' }, control);
}

export function chooser(choices: Choice[], value: string, changed: (value: string) => void): HTMLSelectElement {
  const select = el('select', {}, ...choices.map((choice) => el('option', { value: choice.id }, choice.name)));
  if (!choices.some((choice) => choice.id === value)) select.prepend(el('option', { value }, value || '–'));
  select.value = value;
  return on(select, 'change', () => changed(select.value));
}

export interface Amount {
  label: string;
  value: number | undefined;
  usual: string; // shown while there is no value
  min: number;
  whole: boolean;
  doubling?: number; // the value that ½ and ×2 begin with
  changed(value: number | undefined): void;
  refused(why: string): void;
}

// A number that may be left open. Batches and the like go by doubling, so two buttons do that.
export function amountField(amount: Amount): HTMLElement {
  const input = el('input', { type: 'number', inputmode: 'decimal', min: amount.min, step: amount.whole ? 1 : 'any', placeholder: amount.usual });
  input.value = amount.value === undefined ? '' : String(amount.value);
  const read = (): number | undefined => (input.value === '' ? undefined : Number(input.value));
  on(input, 'input', () => {
    const value = read();
    if (value === undefined ? !input.validity.badInput : input.checkValidity()) amount.changed(value);
    else amount.refused(`${amount.label}: a ${amount.whole ? 'whole number' : 'number'} from ${amount.min} on.`);
  });
  const scale = (factor: number) => (): void => {
    const next = Math.max(amount.min, (read() ?? amount.doubling ?? 1) * factor);
    input.value = String(amount.whole ? Math.round(next) : next);
    amount.changed(Number(input.value));
  };
  const buttons = amount.doubling === undefined ? [] : [
    button('½', scale(0.5), { class: 'small', 'aria-label': `${amount.label} ½` }),
    button('×2', scale(2), { class: 'small', 'aria-label': `${amount.label} ×2` })];
  return labelled(amount.label, input, ...buttons);
}

// Which model: a built-in one, one of a size and family, or one that was pasted or came with the page.
import { button, el, on, type Child } from '../dom';
import { millions } from '../format';
import { number, text } from '../json';
import type { Json, Question } from '../page';
import { chooser, labelled, plainField } from './fields';
import { pasteModel } from './paste';
import type { Catalog, ModelChoice } from './predictor';

const sized = 'gradwire:size', own = 'gradwire:own';
const samples: { [family: string]: string } = { transformer: 'sequence', cnn: 'image', other: 'sample' };

const isSized = (model: Question['model']): model is Json => typeof model !== 'string' && !('layers' in model) && 'family' in model;

function optionsOf(models: ModelChoice[]): Child[] {
  const families = [...new Set(models.map((model) => model.family))];
  return families.map((family) => el('optgroup', { label: family || 'other' }, ...models.filter((model) => model.family === family)
    .map((model) => el('option', { value: model.id }, `${model.name}, ${millions(model.parameters)}`))));
}

export function sizedModel(family: string, parametersInMillions: number): Json {
  const named = parametersInMillions >= 1000 ? `${parametersInMillions / 1000}B` : `${parametersInMillions}M`;
  // What one sample is decides as much as the size: sequences as GPT-2's are given, few enough to fit; images as is usual.
  const sequences = family === 'transformer' ? { sequence: 1024, batch: 4 } : {};
  return { name: `${family}-${named}`, family, sample: samples[family] ?? 'sample', ...sequences, parameters: Math.round(parametersInMillions * 1e6) };
}

function sizeFields(model: Json, changed: (model: Json) => void): HTMLElement {
  let family = text(model, 'family') || 'transformer', size = (number(model, 'parameters') ?? 350e6) / 1e6;
  const input = el('input', { type: 'number', min: 0.1, step: 'any', inputmode: 'decimal' });
  input.value = String(size);
  on(input, 'input', () => {
    if (!input.checkValidity() || Number(input.value) <= 0) return;
    size = Number(input.value);
    changed(sizedModel(family, size));
  });
  const families = ['transformer', 'cnn', 'other'].map((id) => ({ id, name: id === 'cnn' ? 'convolutional' : id }));
  return el('div', { class: 'pair' }, labelled('Million parameters', input), labelled('Family', chooser(families, family, (value) => {
    family = value;
    changed(sizedModel(family, size));
  })));
}

export function modelField(catalog: Catalog, model: Question['model'], changed: (model: Question['model']) => void): HTMLElement {
  const details = el('div');
  const select = el('select', {}, el('option', { value: sized }, 'By size and family …'), ...(optionsOf(catalog.models) as Node[]));
  const showOwn = (value: Json): void => {
    select.querySelector(`option[value="${own}"]`)?.remove();
    select.prepend(el('option', { value: own }, text(value, 'title') || text(value, 'name') || 'own model'));
    select.value = own;
  };
  let kept: Json | null = null;
  if (typeof model === 'string') select.value = model;
  else if (isSized(model)) {
    select.value = sized;
    details.replaceChildren(sizeFields(model, changed));
  } else showOwn((kept = model));
  on(select, 'change', () => {
    details.replaceChildren();
    if (select.value === sized) {
      const first = sizedModel('transformer', 350);
      details.replaceChildren(sizeFields(first, changed));
      changed(first);
    } else if (select.value === own && kept) changed(kept);
    else changed(select.value);
  });
  const paste = button('Paste YAML', () => pasteModel((pasted) => {
    details.replaceChildren();
    showOwn((kept = pasted));
    changed(pasted);
  }), { class: 'quiet small' });
  return el('fieldset', {}, el('legend', {}, 'Model'), plainField('Model', select), details, paste);
}

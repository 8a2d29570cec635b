// A question as the fragment of an address, and back: model=gpt2&on=dgx-a100&on=8x-a100-pcie&batch=4. What is not a plain
// name (a pasted matrix, a YAML file, a switch) is there as JSON.
import { isObject } from '../json';
import type { AskedMachine, Json, Question } from '../page';

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export function toFragment(question: Question): string {
  const { model, machines, sweep: _, ...flags } = question;
  const fields = new URLSearchParams({ model: written(model) });
  for (const machine of machines) fields.append('on', written(machine));
  for (const [name, value] of Object.entries(flags)) if (value !== undefined) fields.set(name, written(value));
  return `#${fields.toString().replaceAll('%2A', '*').replaceAll('%40', '@')}`;
}

const named = (value: string): string | Json => {
  if (!value.startsWith('{')) return value;
  const parsed: unknown = JSON.parse(value);
  return isObject(parsed) ? parsed : value;
};

// Numbers, switches and objects were written as JSON; any other text is itself.
function flag(value: string): unknown {
  return /^(true|false|-?\d[\d.eE+-]*|[{].*)$/s.test(value) ? JSON.parse(value) : value;
}

export const brokenLink = "This link can't be read: a part of it is missing or was changed on the way.";

// Whether a fragment was meant as a question, readable or not.
export const isQuestion = (fragment: string): boolean => /[#&](model|on)=/.test(fragment);

// Null when the fragment holds no question: it may be somebody else's, or cut off. What it asks is the predictor's to check.
export function fromFragment(fragment: string): Question | null {
  try {
    const fields = new URLSearchParams(fragment.replace(/^#/, ''));
    const model = fields.get('model'), machines = fields.getAll('on');
    if (!model || machines.length === 0) return null;
    const flags = [...fields].filter(([name]) => name !== 'model' && name !== 'on').map(([name, value]) => [name, flag(value)]);
    return { ...Object.fromEntries(flags), model: named(model), machines: machines.map((machine) => named(machine) as AskedMachine) };
  } catch {
    return null;
  }
}

// A question as the fragment of an address, and back: model=gpt2&on=dgx-a100&on=8x-a100-pcie&batch=4. What is not a plain
// name (a pasted matrix, a YAML file) is there as JSON.
import { isObject } from '../json';
import type { AskedMachine, Json, Question } from '../page';

const numbers = ['batch', 'accumulate', 'bucket_mb', 'step_ms'] as const;
const words = ['precision', 'compress'] as const;

const written = (value: string | object): string => (typeof value === 'string' ? value : JSON.stringify(value));

export function toFragment(question: Question): string {
  const fields = new URLSearchParams();
  fields.set('model', written(question.model));
  for (const machine of question.machines) fields.append('on', written(machine));
  for (const name of [...numbers, ...words]) if (question[name] !== undefined) fields.set(name, String(question[name]));
  return `#${fields.toString().replaceAll('%2A', '*').replaceAll('%40', '@')}`;
}

function read(value: string): string | Json {
  if (!value.startsWith('{')) return value;
  const parsed: unknown = JSON.parse(value);
  return isObject(parsed) ? parsed : value;
}

// Null when the fragment holds no question: it may be somebody else's, or cut off.
export function fromFragment(fragment: string): Question | null {
  try {
    const fields = new URLSearchParams(fragment.replace(/^#/, ''));
    const model = fields.get('model'), machines = fields.getAll('on');
    if (!model || machines.length === 0) return null;
    const question: Question = { model: read(model), machines: machines.map((machine) => read(machine) as AskedMachine) };
    for (const name of numbers) if (Number(fields.get(name)) > 0) question[name] = Number(fields.get(name));
    for (const name of words) if (fields.get(name)) question[name] = fields.get(name)!;
    return question;
  } catch {
    return null;
  }
}

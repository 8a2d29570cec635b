// The command that says the same names files where a model or a machine has no name of its own: what a shell writes them with.
import type { AskedMachine, Question } from '../page';

const quoted = (word: string): string => (/^[\w\-./:@=+,%]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// A line that the text does not have ends it.
function written(name: string, text: string): string {
  let end = 'END';
  while (text.split('\n').includes(end)) end += '_';
  return `cat > ${quoted(name)} <<'${end}'\n${text.replace(/\n$/, '')}\n${end}\n`;
}

function machineFile(machine: AskedMachine): string {
  if (typeof machine === 'string') return '';
  // "topo.txt:rtx3090", "2*topo.txt@ndr": the file is what is left of a name without its count, GPU and network.
  const name = machine.name.replace(/^\d+\*/, '').replace(/[:@].*$/, '');
  return written(name, machine.matrix ?? JSON.stringify(machine.yaml, null, 1));
}

// JSON is YAML too.
function modelFile(model: Question['model']): string {
  if (typeof model === 'string') return '';
  return written(`${typeof model.name === 'string' ? model.name : 'model'}.yaml`, JSON.stringify(model, null, 1));
}

export const commandFiles = (question: Question): string =>
  modelFile(question.model) + [...new Set(question.machines.map(machineFile))].join('');

// The predictor inside the page: the very sources of the command, compiled to WebAssembly. Questions and answers are JSON.
import makePredictor from 'predictor-glue';
import { isObject, objects, text } from '../json';
import { PageError, parsePage, type PageData, type Question } from '../page';
import { fromBase64, inflate } from '../timeline/decode';

export interface Choice { id: string; name: string }
export interface GpuChoice extends Choice { links: string[] }
export interface ModelChoice extends Choice { family: string; parameters: number; batch: number; unit: string }
export interface MachineChoice extends Choice { gpu: string; gpus: number; link: string }
export interface Catalog {
  models: ModelChoice[];
  machines: MachineChoice[];
  gpus: GpuChoice[];
  networks: Choice[];
  precisions: Choice[];
  compressions: Choice[];
}
export interface Predictor {
  catalog: Catalog;
  ask(question: Question): PageData; // throws PageError with one clear line
}

function choices(catalog: unknown, name: string): Choice[] {
  const list = isObject(catalog) && Array.isArray(catalog[name]) ? catalog[name] : [];
  return list.map((item): Choice => (typeof item === 'string' ? { id: item, name: item }
    : { id: text(item, 'id'), name: text(item, 'name') || text(item, 'title') || text(item, 'id') })).filter((choice) => choice.id !== '');
}

function readCatalog(value: unknown): Catalog {
  return {
    models: objects(value, 'models').map((model) => ({ id: text(model, 'id'), name: text(model, 'name') || text(model, 'id'), family: text(model, 'family'),
      parameters: Number(model['parameters']) || 0, batch: Number(model['default_batch']) || 1, unit: text(model, 'unit') })),
    machines: objects(value, 'machines').map((machine) => ({ id: text(machine, 'id'), name: text(machine, 'name') || text(machine, 'id'), gpu: text(machine, 'gpu'),
      gpus: Number(machine['gpus']) || 1, link: text(machine, 'link') })),
    gpus: objects(value, 'gpus').map((gpu) => ({ id: text(gpu, 'id'), name: (text(gpu, 'name') || text(gpu, 'id')).replace(/^NVIDIA (GeForce )?/, ''),
      links: [...(gpu['nvlinks'] === 0 ? [] : ['nvlink']), ...(gpu['nvswitch'] === false ? [] : ['nvswitch']), 'pcie'] })),
    networks: choices(value, 'networks'),
    precisions: choices(value, 'precisions'), compressions: choices(value, 'compressions'),
  };
}

async function binary(): Promise<ArrayBuffer | null> {
  const block = document.getElementById('gradwire-wasm');
  if (!block?.textContent) return null;
  const packed = fromBase64(block.textContent);
  return block.dataset['encoding'] === 'deflate-raw' ? inflate(packed) : packed.buffer;
}

export async function loadPredictor(): Promise<Predictor | null> {
  if (!makePredictor) return null;
  const wasmBinary = await binary();
  if (!wasmBinary) return null;
  const wasm = await makePredictor({ wasmBinary });
  const answerText = (question: string): string => {
    const room = wasm.lengthBytesUTF8(question) + 1;
    const at = wasm._malloc(room);
    try {
      wasm.stringToUTF8(question, at, room);
      return wasm.UTF8ToString(wasm._gradwire_answer(at));
    } finally {
      wasm._free(at);
    }
  };
  return {
    catalog: readCatalog(JSON.parse(wasm.UTF8ToString(wasm._gradwire_catalog()))),
    ask(question) {
      const answer: unknown = JSON.parse(answerText(JSON.stringify(question)));
      const error = text(answer, 'error');
      if (error || !isObject(answer)) throw new PageError(error || 'the predictor gave no answer');
      return parsePage(answer['page']);
    },
  };
}

// The what-if: every change asks the predictor and shows its answer in place of the page's. The question is in the
// address, so an answer can be sent as a link.
import { button, el, freshId } from '../dom';
import { copyText } from '../copy';
import { times } from '../format';
import { PageError, type AskedMachine, type PageData, type Question } from '../page';
import { rangeOf } from '../sections/range';
import type { Shell } from '../shell';
import { commandFiles } from './command_files';
import { amountField, chooser, labelled, type Amount } from './fields';
import { brokenLink, fromFragment, isQuestion, toFragment } from './fragment';
import { machineField } from './machine_field';
import { modelField } from './model_field';
import { pasteMachine } from './paste';
import type { Predictor } from './predictor';
import { Sweeps } from './sweeps';

function summary(page: PageData): string {
  const range = rangeOf(page.data['answer']);
  return range ? `${times(range.speedup)} (${times(range.low)} to ${times(range.high)}).` : '';
}

export class Panel {
  private readonly element = el('aside', { class: 'panel', 'aria-label': 'What if' });
  private readonly problem = el('p', { class: 'failure', role: 'alert', hidden: true });
  private readonly now = el('p', { class: 'note', 'aria-live': 'polite' }, 'Change anything; the answer follows.');
  private readonly machines = el('div', { class: 'machine-fields' });
  private readonly training = el('div');
  private readonly presets = freshId('presets');
  private readonly sweeps: Sweeps;
  private command = '';
  private writing = 0;

  constructor(private readonly shell: Shell, private readonly predictor: Predictor, private question: Question) {
    this.sweeps = new Sweeps(shell, predictor);
    this.build();
    shell.showPanel(this.element);
    addEventListener('hashchange', () => {
      const sent = fromFragment(location.hash);
      if (!sent && isQuestion(location.hash)) this.refuse(brokenLink);
      if (!sent || toFragment(sent) === toFragment(this.question)) return;
      this.question = sent;
      this.build();
      this.answer();
    });
  }

  // What can't be answered, and that what is shown is the answer to something else.
  refuse(why: string): void {
    this.problem.textContent = why;
    this.problem.hidden = false;
    this.now.textContent = 'What is shown is the answer before that.';
    this.shell.showStale(true);
  }

  // The question's answer, in the page. What was shown stays when there is none, marked as such.
  answer(): void {
    const began = performance.now();
    try {
      const page = this.predictor.ask(this.question);
      performance.measure('gradwire-predictor', { start: began, end: performance.now() });
      this.show(page);
      performance.measure('gradwire-what-if', { start: began, end: performance.now() });
      this.now.textContent = `${summary(page)} Answered inside this page; nothing was sent.`;
      this.problem.hidden = true;
      this.shell.showStale(false);
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      this.refuse(error.message);
    }
  }

  extras(): void {
    this.sweeps.ask(this.question);
  }

  private show(page: PageData): void {
    this.command = page.command;
    this.shell.show(page);
    this.extras();
  }

  private change(part: Partial<Question>): void {
    this.question = { ...this.question, ...part };
    for (const name of ['batch', 'accumulate', 'precision', 'bucket_mb', 'compress', 'step_ms', 'sequence'] as const)
      if (this.question[name] === undefined) delete this.question[name];
    this.answer();
    // The browser takes its time over an address: the answer does not wait for it.
    clearTimeout(this.writing);
    this.writing = window.setTimeout(() => history.replaceState(null, '', toFragment(this.question)), 60);
  }

  private build(): void {
    const { catalog } = this.predictor;
    const list = el('datalist', { id: this.presets }, ...catalog.machines.map((machine) => el('option', { value: machine.id, label: machine.name })));
    this.buildMachines();
    const head = el('div', { class: 'panel-head' }, el('h2', {}, 'What if'), button('Copy link', () => this.copyLink(), { class: 'small primary' }),
      button('Copy command', () => this.copyCommand(), { class: 'small' }), this.now, this.problem);
    this.element.replaceChildren(head,
      modelField(catalog, this.question.model, (model) => {
        delete this.question.sequence; // which is of a model
        this.change({ model });
        this.training.replaceChildren(this.trainingFields());
      }), list, this.machines,
      el('div', { class: 'buttons' },
        button('Add machine', () => this.setMachines([...this.question.machines, catalog.machines[0]?.id ?? 'dgx-a100'])),
        button('Paste machine', () => pasteMachine(catalog.gpus, (machine) => this.setMachines([...this.question.machines, machine])))),
      this.training);
    this.training.replaceChildren(this.trainingFields());
  }

  private trainingFields(): HTMLElement {
    const { catalog } = this.predictor, question = this.question;
    const usual = catalog.models.find((model) => model.id === question.model)?.batch;
    return el('fieldset', { class: 'training' }, el('legend', {}, 'Training'),
      amountField({ label: 'Batch a GPU', value: question.batch, usual: String(usual ?? 'usual'), min: 1, whole: true, doubling: usual ?? 8,
        ...this.knob('batch') }),
      amountField({ label: 'Accumulation', value: question.accumulate, usual: '1', min: 1, whole: true, doubling: 1,
        ...this.knob('accumulate') }),
      amountField({ label: 'Tokens a sample', value: question.sequence, usual: 'usual', min: 1, whole: true, ...this.knob('sequence') }),
      labelled('Precision', chooser(catalog.precisions, question.precision ?? 'fp32', (precision) => this.change({ precision }))),
      labelled('Compression', chooser(catalog.compressions, question.compress ?? 'none', (compress) => this.change({ compress }))),
      amountField({ label: 'Bucket, MB', value: question.bucket_mb, usual: '25', min: 0.01, whole: false, doubling: 25,
        ...this.knob('bucket_mb') }),
      amountField({ label: 'Step on 1 GPU, ms', value: question.step_ms, usual: 'if measured', min: 0.001, whole: false,
        ...this.knob('step_ms') }));
  }

  private knob(name: 'batch' | 'accumulate' | 'bucket_mb' | 'step_ms' | 'sequence'): Pick<Amount, 'changed' | 'refused'> {
    return { changed: (value) => this.change({ [name]: value } as Partial<Question>), refused: (why) => this.refuse(why) };
  }

  private buildMachines(): void {
    this.machines.replaceChildren(...this.question.machines.map((machine, at) => machineField({
      machine, at, catalog: this.predictor.catalog, list: this.presets,
      changed: (next) => this.change({ machines: this.question.machines.map((old, index) => (index === at ? next : old)) }),
      remove: this.question.machines.length > 1 ? () => this.setMachines(this.question.machines.filter((_, index) => index !== at)) : null,
    })));
  }

  private setMachines(machines: AskedMachine[]): void {
    this.change({ machines });
    this.buildMachines();
  }

  private copyLink(): void {
    const address = location.href.replace(/#.*$/, '') + toFragment(this.question);
    const note = location.protocol === 'file:' ? 'Link copied. It opens this file where it lies now: send the file too, and what follows # is put behind its address.' : 'Link copied';
    void copyText(address, note);
  }

  private copyCommand(): void {
    const command = this.command || this.predictor.ask(this.question).command, files = commandFiles(this.question);
    void copyText(files + command, files ? 'Command copied, with the files it names' : 'Command copied');
  }
}

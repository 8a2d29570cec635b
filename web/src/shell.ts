// The frame of the page: head, answer, panel, sections, foot. show() draws a PageData into it, again and again.
import { button, el } from './dom';
import { copyText } from './copy';
import type { PageData } from './page';
import { Reading } from './reading';
import { answerSection } from './sections/answer';
import { curvesSection } from './sections/bandwidth';
import { findingsSection } from './sections/findings';
import { helpsSection } from './sections/helps';
import { machinesSection } from './sections/machines';
import { restSection } from './sections/rest';
import { stepsSection } from './sections/steps';
import { sureSection } from './sections/sure';
import { timelineSection } from './sections/timeline';
import { themeButton } from './theme';

export class Shell {
  private readonly head = el('header', { class: 'head' });
  private readonly answer = el('div', { class: 'slot-answer' });
  readonly panel = el('div', { class: 'slot-panel' });
  private readonly sections = el('div', { class: 'slot-sections' });
  private readonly foot = el('footer', { class: 'foot' });
  private readonly main = el('main', { class: 'main', id: 'main' }, this.answer, this.panel, this.sections);
  private readonly theme = themeButton();

  constructor(holder: HTMLElement) {
    holder.replaceChildren(this.head, this.main, this.foot);
  }

  show(page: PageData): void {
    document.title = page.title;
    const reading = new Reading(page);
    this.head.replaceChildren(...this.headOf(page));
    this.answer.replaceChildren(answerSection(reading));
    const findings = findingsSection(reading);
    const drawn = [stepsSection(reading), timelineSection(reading), machinesSection(reading), curvesSection(reading)];
    const told = [helpsSection(reading), sureSection(reading), restSection(reading)];
    // What is wrong comes first where that was the question.
    const all = page.verb === 'doctor' || page.verb === 'watch' ? [findings, ...drawn, ...told] : [...drawn, findings, ...told];
    this.sections.replaceChildren(...all.filter((one) => one !== null));
    this.foot.replaceChildren(...this.footOf(page));
  }

  showPanel(panel: HTMLElement): void {
    this.panel.replaceChildren(panel);
    this.main.classList.add('with-panel');
  }

  showFailure(message: string): void {
    this.answer.replaceChildren(el('p', { class: 'failure', role: 'alert' }, message));
  }

  showWaiting(message: string): void {
    this.answer.replaceChildren(el('p', { class: 'note', role: 'status' }, message));
  }

  // What is shown answers another question than the one that is asked: it is there, and pale.
  showStale(stale: boolean): void {
    this.main.classList.toggle('stale', stale);
  }

  // Beside the curves of the report: those that were asked for later.
  addSection(section: HTMLElement, before: string): void {
    const next = this.sections.querySelector(`:scope > .${before}`);
    this.sections.insertBefore(section, next);
  }

  private headOf(page: PageData): Node[] {
    return [el('p', { class: 'brand' }, 'Gradwire'), el('h1', {}, page.title), this.theme];
  }

  private footOf(page: PageData): Node[] {
    const command = el('p', { class: 'command' }, el('span', { class: 'note' }, 'The same in a terminal: '), el('code', {}, page.command), ' ',
      button('Copy', () => copyText(page.command, 'Command copied'), { class: 'quiet small', 'aria-label': 'Copy the command' }));
    return [...(page.command ? [command] : []), el('p', { class: 'note' }, `Gradwire ${page.version}. This file holds everything it shows and loads nothing.`)];
  }
}

// Loads the predictor, if the page holds it, and lets the panel ask it.
import type { PageData, Question } from '../page';
import type { Shell } from '../shell';
import { brokenLink, fromFragment, isQuestion } from './fragment';
import { loadPredictor } from './predictor';
import { Panel } from './panel';

const firstQuestion: Question = { model: 'gpt2', machines: ['2x-rtx3090-nvlink', '2x-rtx3090-pcie'] };

export async function startWhatIf(shell: Shell, page: PageData | null): Promise<void> {
  const empty = 'This page holds no answer. The command writes one into it: gradwire compare gpt2 --on dgx-a100 --html answer.html';
  if (page && !page.question) return;
  if (!page) shell.showWaiting('The predictor inside this page is starting.');
  try {
    const predictor = await loadPredictor();
    if (!predictor) {
      if (!page) shell.showFailure(empty);
      return;
    }
    const sent = fromFragment(location.hash);
    const panel = new Panel(shell, predictor, sent ?? page?.question ?? firstQuestion);
    if (sent || !page) panel.answer();
    else panel.extras();
    if (!sent && isQuestion(location.hash)) panel.refuse(brokenLink);
  } catch (error) {
    if (!page) shell.showFailure(`The predictor inside this page did not start: ${String(error)}.`);
    else console.warn('the predictor did not start', error);
  }
}

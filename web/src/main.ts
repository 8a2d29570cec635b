// The page: reads what the command wrote into it, shows it, and where the predictor is inside, lets the question change.
import './style/tokens.css';
import './style/page.css';
import './style/figures.css';
import './style/panel.css';
import './style/print.css';
import { el } from './dom';
import { parsePage, PageError, type PageData } from './page';
import { Shell } from './shell';
import { startWhatIf } from './whatif/start';

function embedded(): PageData | null {
  const block = document.getElementById('gradwire-data')?.textContent ?? 'null';
  const value: unknown = JSON.parse(block);
  return value === null ? null : parsePage(value);
}

function start(): void {
  const holder = document.getElementById('page')!;
  try {
    const page = embedded();
    const shell = new Shell(holder);
    if (page) shell.show(page);
    performance.mark('gradwire-shown');
    const go = (): void => void startWhatIf(shell, page);
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', go);
    else go();
  } catch (error) {
    const reason = error instanceof PageError || error instanceof SyntaxError ? error.message : String(error);
    holder.replaceChildren(el('p', { class: 'failure', role: 'alert' }, `This page cannot be shown: ${reason}.`));
  }
}

// The command has written title and answer into the page: they are painted before anything is drawn. Nothing is painted in a
// window that nobody sees.
if (document.hidden) start();
else requestAnimationFrame(() => setTimeout(start));

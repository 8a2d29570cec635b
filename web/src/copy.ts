// To the clipboard, and says so. From a file the clipboard may be closed: then the text is shown, selected, to be taken.
import { button, el, on } from './dom';

let toast: HTMLElement | undefined;
let hiding = 0;

export function say(message: string): void {
  toast ??= document.body.appendChild(el('div', { class: 'toast', role: 'status', 'aria-live': 'polite' }));
  toast.textContent = message;
  toast.classList.add('shown');
  clearTimeout(hiding);
  hiding = window.setTimeout(() => toast?.classList.remove('shown'), 4000);
}

function offer(value: string): void {
  const area = el('textarea', { readonly: true, rows: 4, 'aria-label': 'Text to copy' });
  area.value = value;
  const dialog = el('dialog', { class: 'offer' }, el('p', {}, 'Copy this:'), area,
    button('Close', () => dialog.close()));
  on(dialog, 'close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  area.select();
}

export async function copyText(value: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(value);
    say(done);
  } catch {
    offer(value);
  }
}

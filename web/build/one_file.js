// Puts script, style and the predictor into the one html file, and writes the policy that allows just these by hash.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';

const hashOf = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

function policy(script, style) {
  return [
    `default-src 'none'`,
    `script-src ${hashOf(script)} 'wasm-unsafe-eval'`,
    `style-src ${hashOf(style)}`,
    `img-src data:`,
    `base-uri 'none'`,
    `form-action 'none'`,
  ].join('; ');
}

// Ends no element early, whatever the code holds.
const insideScript = (code) => code.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');

function predictorBlock(binary) {
  if (!binary) return '';
  const text = deflateRawSync(readFileSync(binary), { level: 9 }).toString('base64');
  return `<script type="application/octet-stream" id="gradwire-wasm" data-encoding="deflate-raw">${text}</script>\n`;
}

export function oneFile({ name, binary }) {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const html = files.find((file) => file.fileName.endsWith('.html'));
      const script = insideScript(files.find((file) => file.type === 'chunk').code);
      const style = String(files.find((file) => file.fileName.endsWith('.css')).source).trim();
      const head = `<meta http-equiv="Content-Security-Policy" content="${policy(script, style)}">`;
      const source = String(html.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, '')
        .replace(/\s*<link rel="stylesheet"[^>]*>/, '')
        .replace('<!-- content-security-policy -->', () => head)
        .replace('</head>', () => `<style>${style}</style>\n</head>`)
        .replace('</body>', () => `<script>${script}</script>\n${predictorBlock(binary)}</body>`);
      for (const file of files) delete bundle[file.fileName];
      this.emitFile({ type: 'asset', fileName: name, source });
    },
  };
}

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { oneFile } from './build/one_file.js';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const predictor = { glue: here('wasm/out/predictor.js'), binary: here('wasm/out/predictor.wasm') };
const hasPredictor = existsSync(predictor.glue) && existsSync(predictor.binary);

export default defineConfig({
  root: here('.'),
  resolve: { alias: { 'predictor-glue': hasPredictor ? predictor.glue : here('src/whatif/no_predictor.ts') } },
  build: {
    outDir: process.env.GRADWIRE_PAGE_OUT ?? 'dist',
    emptyOutDir: false, // holds what says which inputs it was built from
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: { output: { format: 'iife', inlineDynamicImports: true } },
  },
  plugins: [oneFile({ name: 'page.html', binary: hasPredictor ? predictor.binary : null })],
});

// What emscripten makes of web/wasm; see vite.config.js for where it comes from.
declare module 'predictor-glue' {
  interface Predictor {
    _gradwire_catalog(): number;
    _gradwire_answer(question: number): number;
    _malloc(bytes: number): number;
    _free(at: number): void;
    UTF8ToString(at: number): string;
    stringToUTF8(text: string, at: number, room: number): void;
    lengthBytesUTF8(text: string): number;
  }
  const make: ((options: { wasmBinary: ArrayBuffer }) => Promise<Predictor>) | null;
  export default make;
}

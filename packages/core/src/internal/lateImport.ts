/** Parts that load later must be parts of the same program: this refuses loaders that would load every module a second time. */

/** CommonJS's own variable; a file that runs as an ES module has none. */
declare const module: unknown

/** An import of a file beside this one, in the text of a function. */
const ofFile = /\bimport\(\s*["'`]\./

/**
 * Returns `load`. Throws if a loader turned these files into CommonJS and left their imports as they are, as tsx does for programs without
 * "type": "module": `load` would then return ES modules with other classes and keys than the modules that are running.
 */
export const lateImport = <P>(load: () => Promise<P>): (() => Promise<P>) => {
  // The evaluated text of `node -e` has a global of that name.
  const isCommonJs = typeof module === "object" && module !== Reflect.get(globalThis, "module")
  if (isCommonJs && ofFile.test(String(load))) {
    throw new Error(
      `effect-mcp runs as ES modules only, and this loader turned it into CommonJS: add "type": "module" to your package.json, or name your file .mts.`
    )
  }
  return load
}

/** Checks that lazily loaded modules belong to the running program, because some loaders would load every module a second time. */

/** CommonJS's `module` variable. It doesn't exist in a file that runs as an ES module. */
declare const module: unknown

/** Matches the import of a relative path in a function's source. */
const ofFile = /\bimport\(\s*["'`]\./

/**
 * Returns `load`. Throws if a loader such as tsx has compiled these files to CommonJS but left their imports unchanged, as it does in
 * programs without "type": "module". In that case, `load` would return ES modules whose classes and keys differ from the running modules.
 */
export const lateImport = <P>(load: () => Promise<P>): (() => Promise<P>) => {
  // Code evaluated with `node -e` has a global variable with this name.
  const isCommonJs = typeof module === "object" && module !== Reflect.get(globalThis, "module")
  if (isCommonJs && ofFile.test(String(load))) {
    throw new Error(
      `effect-mcp only runs as ES modules, but this loader converted it to CommonJS. Add "type": "module" to your package.json, or rename your file to .mts.`
    )
  }
  return load
}

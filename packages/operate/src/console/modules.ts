/** The modules of the page as a browser runs them. They lie beside this one: published as they are, and as TypeScript in a clone. */
import * as Effect from "effect/Effect"
import { readFile } from "node:fs/promises"

/** Every module of the page. */
const names = ["api", "details", "dom", "drain", "main", "messages", "model", "plots", "timeline", "tree"]

const isSource = import.meta.url.endsWith(".ts")

const read = async (name: string): Promise<readonly [file: string, text: string]> => {
  const text = await readFile(new URL(`./page/${name}${isSource ? ".ts" : ".js"}`, import.meta.url), "utf8")
  if (!isSource) return [`${name}.js`, text.replace(/^\/\/# sourceMappingURL=.*$/m, "")]
  const { stripTypeScriptTypes } = await import("node:module")
  return [`${name}.js`, stripTypeScriptTypes(text).replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"')]
}

/** Dies where they are not there: a bundler that does not copy them has left them out. */
export const modules: Effect.Effect<ReadonlyArray<readonly [file: string, text: string]>> = Effect.promise(() =>
  Promise.all(names.map(read))
)

/**
 * Loads the page's modules for the browser. They are located next to this one, compiled in a published package and as TypeScript in a
 * clone.
 */
import * as Effect from "effect/Effect"
import { readFile } from "node:fs/promises"

/** All of the page's modules. */
const names = [
  "api",
  "details",
  "dom",
  "drain",
  "groups",
  "main",
  "messages",
  "model",
  "outcome",
  "overview",
  "plots",
  "table",
  "tabs",
  "timeline",
  "tree"
]

const isSource = import.meta.url.endsWith(".ts")

const read = async (name: string): Promise<readonly [file: string, text: string]> => {
  const text = await readFile(new URL(`./page/${name}${isSource ? ".ts" : ".js"}`, import.meta.url), "utf8")
  if (!isSource) return [`${name}.js`, text.replace(/^\/\/# sourceMappingURL=.*$/m, "")]
  const { stripTypeScriptTypes } = await import("node:module")
  return [`${name}.js`, stripTypeScriptTypes(text).replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"')]
}

/** Dies if the modules are missing because a bundler did not copy them. */
export const modules: Effect.Effect<ReadonlyArray<readonly [file: string, text: string]>> = Effect.promise(() =>
  Promise.all(names.map(read))
)

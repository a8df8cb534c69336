/** The page's program: a file of a published package, or bundled when it is needed in a clone. */
import * as Effect from "effect/Effect"
import { readFile } from "node:fs/promises"

const isSource = import.meta.url.endsWith(".ts")

let built: Promise<string> | undefined

/** Bundles the sources. The path is computed, because a published package has no builder that bundlers or checks could follow. */
const bundled = async (): Promise<string> => {
  const builder = import.meta.url.replace("/program.ts", "/build.ts")
  const { build }: { readonly build: () => Promise<string> } = await import(builder)
  return build()
}

/** Dies if the file is missing because a bundler did not copy it. */
export const program: Effect.Effect<string> = Effect.promise(() =>
  isSource ? (built ??= bundled()) : readFile(new URL("../page/main.js", import.meta.url), "utf8")
)

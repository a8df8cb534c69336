import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { join } from "node:path"

/** Builds a store, and prints which modules of Effect's workflow engine and cluster are then loaded. */
const script = (store: string) => `
  import { registerHooks } from "node:module"
  const loaded = []
  registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
  await import("@effect-mcp/tasks")
  await import("@effect-mcp/server")
  const { Effect, Layer } = await import("effect")
  await Effect.runPromise(Effect.scoped(Layer.build(${store})))
  console.log(loaded.length > 100, loaded.filter((url) => /effect\\/(?:dist|src)\\/(?:workflow|cluster)\\//.test(url)).length)`

const loadedBy = (store: string): string => {
  const args = ["--input-type=module", "--eval", script(store)]
  return spawnSync(process.execPath, args, {
    cwd: join(import.meta.dirname, "../../.."),
    encoding: "utf8"
  }).stdout.trim()
}

it("The workflow engine is loaded only by programs that use it", () => {
  assert.strictEqual(loadedBy('(await import("@effect-mcp/tasks/sqlite")).layer({ file: ":memory:" })'), "true 0")
  const engine = '(await import("effect/workflow/WorkflowEngine")).layerMemory'
  assert.match(
    loadedBy(`Layer.provide((await import("@effect-mcp/tasks/workflow")).layer(), ${engine})`),
    /^true [1-9]/
  )
})

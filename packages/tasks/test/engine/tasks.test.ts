/**
 * The tests of tasks, with each in-memory store replaced by one on the workflow engine. Tests that depend on claims are skipped, and tests
 * of handlers that must start within the request that creates their task.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { WorkflowEngine } from "effect/workflow"
import { vi } from "vitest"

vi.mock(import("../../src/store/memory.ts"), async (original) => {
  const memory = await original()
  // The layer of the engine imports the store that is replaced here.
  const engine = Effect.promise(() => import("../../src/workflow/layer.ts"))
  return {
    ...memory,
    layer: (options) =>
      Layer.provide(
        Layer.unwrap(Effect.map(engine, ({ layer }) => layer({ store: memory.layer(options) }))),
        Layer.fresh(WorkflowEngine.layerMemory)
      )
  }
})

vi.mock(import("@effect/vitest"), async (original) => {
  const vitest = await original()
  const leftOut = new Set([
    // They need a second server on one in-memory engine, but the engine ends a task with its server. `process.test.ts` has a cluster.
    "A stopping node records its task's running step and hands the task over at once",
    "A step has the same key and caller in every attempt",
    // Steps and attempts work differently without claims; `engine.test.ts` covers them.
    "Changed handlers",
    "A supervisor abandons a task after ten claims without new records",
    "A journal whose claim returns no Effect is called again",
    // The handler starts a turn after the answer.
    "A call is answered with its task only if it takes longer than `taskAfter`",
    "A call rejected by middleware after its task was created cancels the task",
    "A task over HTTP can be read by every client that knows its id"
  ])
  const chosen = <T extends (...args: Array<never>) => unknown>(register: T): T =>
    new Proxy(register, {
      apply: (target, self, args) => (leftOut.has(args[0]) ? undefined : Reflect.apply(target, self, args))
    })
  const own = { effect: chosen(vitest.it.effect), live: chosen(vitest.it.live) }
  const it = new Proxy(vitest.it, {
    get: (target, name) => (name === "effect" || name === "live" ? own[name] : Reflect.get(target, name))
  })
  return { ...vitest, it, describe: chosen(vitest.describe) }
})

await import("../store/memory.test.ts")
await import("../run/Resuming.test.ts")
await import("../server/Closing.test.ts")
await import("../server/CoreMethods.test.ts")
await import("../server/Creation.test.ts")
await import("../server/Execution.test.ts")
await import("../server/Http.test.ts")
await import("../server/Methods.test.ts")
await import("../server/Routes.test.ts")
await import("../server/TaskAfter.test.ts")
await import("../client/Calls.test.ts")

/**
 * The tests of the package tasks, where each store in memory is one on the workflow engine. Those that are left out are about claims,
 * or that a handler starts within the request that makes its task.
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
    // A second server on one engine in memory: the engine ends a task with the server that ran it. `process.test.ts` has a cluster.
    "A task at the shutdown of its node records the step that runs, begins none, and continues on another node at once",
    "A step has the same key in every attempt, and the caller that made the task, without claims that are not kept",
    // Steps and attempts are not those of claims: the engine has none. `engine.test.ts` has what is there instead.
    "changed handlers",
    "A supervisor gives a task up that was claimed ten times and recorded nothing new",
    // The handler starts a turn after the answer.
    "A call that ends within `taskAfter` is answered without a task, and a longer call by its task, which runs once",
    "A call that middleware refuses after its task was made cancels the task",
    "A task over HTTP is read by all clients that know its id, and the header Mcp-Name must name it"
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

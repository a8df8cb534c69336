/**
 * Runs a handler as a task once for each point at which its node may die: before and after every write to the journal. Another node on the
 * same store continues it.
 *
 * A node that dies writes nothing more: its fibers wait in the write that it died in until the end of the test.
 */
import type { Tools } from "@effect-mcp/core"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import { Tasks } from "@effect-mcp/tasks"
import { Journal } from "@effect-mcp/tasks/Journal"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { Context, Deferred, Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { connect, type Seen, serve } from "../../../tasks/test/support/client.ts"
import { tool } from "../../../tasks/test/support/tools.ts"

type Handler = () => Effect.Effect<string, Tools.ToolFailure, RequestServices>

/** Where a node dies: at its nth write, before or after it took effect. */
export interface Point {
  readonly write: number
  readonly when: "before" | "after"
}

/** A journal of a node that dies at a point; undefined: it lives. */
const dying = (journal: Journal["Service"], point: Point | undefined, over: Deferred.Deferred<void>) => {
  let writes = 0
  let dead = false
  const end = Effect.andThen(Deferred.await(over), Effect.die(new Error("The node died")))
  const died = Effect.suspend(() => {
    dead = true
    return end
  })
  const write = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      if (dead) return end
      writes++
      if (writes !== point?.write) return effect
      return point.when === "before" ? died : Effect.andThen(effect, died)
    })
  const alive = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.suspend(() => (dead ? end : effect))
  const service: Journal["Service"] = {
    ...journal,
    due: alive(journal.due),
    claim: (node, tools, max) => alive(journal.claim(node, tools, max)),
    renew: (node, leases) => alive(journal.renew(node, leases)),
    record: (lease, entry) => write(journal.record(lease, entry)),
    message: (lease, message) => write(journal.message(lease, message)),
    park: (lease, wake) => write(journal.park(lease, wake)),
    settle: (lease, outcome, message) => write(journal.settle(lease, outcome, message)),
    sweep: alive(journal.sweep)
  }
  return { service, writes: () => writes }
}

const answers = { sure: { action: "accept", content: { ok: true } } }

/** Runs the handler to its end over two nodes, the first of which dies at the point. Gives the text of its result. */
const run = Effect.fnUntraced(function* (
  { journal, store }: { readonly journal: Journal["Service"]; readonly store: TaskStore["Service"] },
  handler: Handler,
  point: Point | undefined
) {
  const over = yield* Deferred.make<void>()
  const first = dying(journal, point, over)
  const node = (journal: Journal["Service"]) => {
    const services = Context.make(TaskStore, store).pipe(Context.add(Journal, journal))
    const tasks = Layer.provide(Tasks.layerStore(), Layer.succeedContext(services))
    return Effect.flatMap(serve(Layer.merge(tasks, tool("run", "required", handler))), (server) =>
      connect(server, { principal: { subject: "ada", scopes: [], claims: {} } })
    )
  }
  const a = yield* node(first.service)
  yield* Effect.addFinalizer(() => Deferred.succeed(over, undefined))
  const { taskId } = yield* a.call("run")
  const b = yield* node(journal)
  let task: Seen = {}
  for (let second = 0; second < 3600 && task["status"] !== "completed"; second++) {
    yield* TestClock.adjust("1 second")
    task = yield* b.get(taskId)
    if (task["status"] === "input_required" && second % 40 === 0) yield* b.update(taskId, answers)
  }
  const text: unknown = task["result"]?.content?.[0]?.text
  return { text: String(text), writes: first.writes() }
})

/** The results of a handler at each point, and without a death. `make` makes the handler anew, with what it does outside. */
export const forAll = Effect.fnUntraced(function* <A>(
  open: Effect.Effect<
    { readonly journal: Journal["Service"]; readonly store: TaskStore["Service"] },
    never,
    Scope.Scope
  >,
  make: () => { readonly handler: Handler; readonly effects: A }
) {
  const at = (point: Point | undefined) => {
    const { effects, handler } = make()
    return Effect.map(Effect.scoped(Effect.flatMap(open, (stores) => run(stores, handler, point))), (result) => ({
      ...result,
      point,
      effects
    }))
  }
  const whole = yield* at(undefined)
  const points = Array.from({ length: whole.writes }, (_, index): ReadonlyArray<Point> => [
    { write: index + 1, when: "before" },
    { write: index + 1, when: "after" }
  ])
  return { whole, died: yield* Effect.forEach(points.flat(), at) }
})

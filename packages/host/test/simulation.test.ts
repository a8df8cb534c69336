/** Budgets and remembered answers of one conversation with several clients, under random schedules. */
import type { McpClient } from "@effect-mcp/client"
import { Tool, Tools } from "@effect-mcp/core"
import { AnswerStore, Approver, Budgets, Caller, HostPolicy, Pins } from "@effect-mcp/host"
import { scaled } from "@effect-mcp/spec/Scale"
import { Simulation } from "@effect-mcp/testing"
import { describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Ref } from "effect"

/** Numbers of calls that a server received, and of questions to the user. */
class Journal extends Context.Service<Journal, { readonly calls: Ref.Ref<number>; readonly asked: Ref.Ref<number> }>()(
  "test/Journal"
) {
  static readonly layer = Layer.effect(Journal, Effect.all({ calls: Ref.make(0), asked: Ref.make(0) }))
}

const Note = Tool.make("note", { description: "Writes a note." })
const size = 400
const features = Tools.layer(Note, () =>
  Effect.gen(function* () {
    const { calls } = yield* Journal
    yield* Ref.update(calls, (count) => count + 1)
    yield* Effect.sleep("10 millis")
    return "x".repeat(size)
  })
)

const conversation = new Caller.HostConversation("chat")
const calls =
  (count: number, concurrency: number | "unbounded" = "unbounded") =>
  (client: McpClient.Client) =>
    Caller.within(
      Effect.forEach(
        Array.from({ length: count }),
        // A refusal must not end the program.
        () => Effect.ignore(client.callToolByName("note")),
        { concurrency, discard: true }
      ),
      { conversation }
    )
const clients = { alice: calls(3), bob: calls(3), carol: calls(2) }

const approver = Layer.effect(
  Approver.Approver,
  Effect.map(Journal, ({ asked }) => ({
    ask: () =>
      Effect.andThen(
        Ref.update(asked, (count) => count + 1),
        Effect.as(Effect.sleep("5 millis"), { _tag: "Allow" as const, remember: "conversation" as const })
      )
  }))
)

const failIf = (condition: boolean, message: string) => (condition ? Effect.fail(message) : Effect.void)

describe("one conversation under random schedules", () => {
  it.effect("Calls never exceed their budget", () =>
    Simulation.check(
      {
        features,
        clients,
        world: Layer.provideMerge(
          Layer.suspend(() => Budgets.layer({ conversation: { calls: 4 } })),
          Journal.layer
        ),
        atEnd: () =>
          Effect.gen(function* () {
            const { calls } = yield* Journal
            const count = yield* Ref.get(calls)
            yield* failIf(count !== 4, `${count} of 4 calls were sent`)
          })
      } satisfies Simulation.App<any, never, any>,
      { runs: scaled(30, 5000) }
    )
  )

  it.effect("The byte budget is exceeded by at most the calls that were running", () =>
    Simulation.check(
      {
        features,
        // Each client has one call in flight.
        clients: { alice: calls(4, 1), bob: calls(4, 1), carol: calls(4, 1) },
        world: Layer.provideMerge(
          Layer.suspend(() => Budgets.layer({ conversation: { bytes: size * 2 } })),
          Journal.layer
        ),
        atEnd: () =>
          Effect.gen(function* () {
            const { calls } = yield* Journal
            const count = yield* Ref.get(calls)
            yield* failIf(count > 2 + 3, `${count} calls were sent`)
            yield* failIf(count < 2, `${count} calls were sent, although the budget has room for 2`)
          })
      } satisfies Simulation.App<any, never, any>,
      { runs: scaled(30, 5000) }
    )
  )

  it.effect("The user is asked once for an answer that holds for the conversation", () =>
    Simulation.check(
      {
        features,
        clients: { alice: calls(2), bob: calls(2) },
        world: HostPolicy.layer().pipe(
          Layer.provideMerge(Layer.suspend(() => Pins.layerMemory())),
          Layer.provideMerge(Layer.merge(approver, AnswerStore.layerMemory)),
          Layer.provideMerge(Journal.layer),
          Layer.orDie
        ),
        atEnd: () =>
          Effect.gen(function* () {
            const { asked, calls } = yield* Journal
            const [questions, count] = [yield* Ref.get(asked), yield* Ref.get(calls)]
            // Once before the first result, and once when results may have brought private data.
            yield* failIf(questions > 2, `The user was asked ${questions} times`)
            yield* failIf(count !== 4, `${count} of 4 calls were sent`)
          })
      } satisfies Simulation.App<any, never, any>,
      { runs: scaled(30, 5000) }
    )
  )
})

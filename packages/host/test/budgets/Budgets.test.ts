/** Budgets of conversations, servers and tools: what counts, and how a request beyond them fails. */
import * as McpClients from "@effect-mcp/client/McpClients"
import { Elicitation } from "@effect-mcp/core"
import { Budgets, Caller } from "@effect-mcp/host"
import * as Revision from "@effect-mcp/protocol/Revision"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Changing, row, text, tool } from "../support/changing.ts"

const look = tool("look", "Looks outside.")
const write = tool("write", "Writes a note.")

const served = Effect.fnUntraced(function* (
  options: Budgets.Options,
  answer?: ConstructorParameters<typeof Changing>[1],
  more: Layer.Layer<never> | Layer.Layer<Elicitation.Elicitation> = Layer.empty,
  revision: Revision.Revision = Revision.latestStateful
) {
  const [one, two] = [new Changing([look, write], answer), new Changing([look, write], answer)]
  const context = yield* Layer.build(Layer.merge(Budgets.layer(options), more as Layer.Layer<never>))
  const clients = yield* Effect.provideContext(
    McpClients.make({ one: row(one, revision), two: row(two, revision) }),
    context as Context.Context<never>
  )
  return { budgets: Context.get(context, Budgets.Budgets), clients, one, two }
})

const chat = () => new Caller.HostConversation("chat")

describe.each(Revision.all)("budgets in $version", (revision) => {
  it.effect("A call over the budget fails with the limit and is not sent", () =>
    Effect.gen(function* () {
      const { budgets, clients, one } = yield* served({ conversation: { calls: 2 } }, undefined, Layer.empty, revision)
      const conversation = chat()
      const call = Caller.within(clients.callToolByName("one_look"), { conversation })
      yield* call
      yield* call
      const error = yield* Effect.flip(call)
      assert(error instanceof Budgets.BudgetExceeded)
      assert.deepInclude(error, { scope: "conversation", spending: "calls", limit: 2, used: 2 })
      assert.lengthOf(one.received, 2)
      assert.strictEqual(budgets.left(conversation).calls, 0)
      assert.strictEqual(budgets.spent(conversation, "one").calls, 2)
      // Each conversation has its own budget.
      yield* Caller.within(clients.callToolByName("one_look"), { conversation: chat() })
    })
  )

  it.effect("A server's questions count for the conversation that waits for it", () =>
    Effect.gen(function* () {
      const asks = () =>
        Elicitation.confirm("Sure?").pipe(
          Effect.match({ onFailure: () => text("declined"), onSuccess: (sure) => text(String(sure)) })
        )
      const { budgets, clients } = yield* served(
        { conversation: { questions: 1 } },
        asks,
        Elicitation.layerAccept({ confirm: true, confirmed: true, value: true, answer: true }),
        revision
      )
      const conversation = chat()
      yield* Effect.exit(Caller.within(clients.callToolByName("one_look"), { conversation }))
      const asked = revision.version < "2025-06-18" ? 0 : 1
      assert.strictEqual(budgets.spent(conversation).questions, asked)
      yield* Effect.exit(Caller.within(clients.callToolByName("one_look"), { conversation }))
      assert.strictEqual(budgets.spent(conversation).questions, asked)
    })
  )
})

describe("the scopes of budgets", () => {
  it.effect("Each server and each tool has a budget", () =>
    Effect.gen(function* () {
      const { clients } = yield* served({ server: { calls: 3 }, tool: { calls: 2 } })
      const scopes: Array<string> = []
      for (const name of ["one_look", "one_look", "one_look", "one_write", "one_write", "two_look"]) {
        const exit = yield* Effect.exit(clients.callToolByName(name))
        const error = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
        scopes.push(error instanceof Budgets.BudgetExceeded ? error.scope : "sent")
      }
      assert.deepStrictEqual(scopes, ["sent", "sent", "tool", "sent", "server", "sent"])
    })
  )

  it.effect("A running request is interrupted when the seconds are used up", () =>
    Effect.gen(function* () {
      const { budgets, clients } = yield* served({ conversation: { seconds: 10 } }, () => Effect.never)
      const conversation = chat()
      const call = Caller.within(clients.callToolByName("one_look"), { conversation })
      const fiber = yield* Effect.forkChild(Effect.flip(call))
      yield* quiesce
      yield* TestClock.adjust("10 seconds")
      const error = yield* Fiber.join(fiber)
      assert.instanceOf(error, Budgets.BudgetExceeded)
      assert.strictEqual(error.spending, "seconds")
      assert.strictEqual(budgets.left(conversation).seconds, 0)
      assert.instanceOf(yield* Effect.flip(call), Budgets.BudgetExceeded)
    })
  )

  it.effect("Results count in bytes and tokens, even if the counter fails", () =>
    Effect.gen(function* () {
      const large = () => Effect.succeed(text("x".repeat(1000)))
      const conversation = chat()
      const inside = <A, E, R>(effect: Effect.Effect<A, E, R>) => Caller.within(effect, { conversation })
      const bytes = yield* served({ tool: { bytes: 1500 } }, large)
      yield* inside(bytes.clients.callToolByName("one_look"))
      yield* inside(bytes.clients.callToolByName("one_look"))
      const error = yield* Effect.flip(inside(bytes.clients.callToolByName("one_look")))
      assert(error instanceof Budgets.BudgetExceeded)
      assert.deepStrictEqual([error.spending, error.scope], ["bytes", "tool"])
      for (const tokens of [() => Effect.succeed(600), () => Effect.die("dead"), () => 7 as never]) {
        const { clients } = yield* served({ conversation: { tokens: 1000 } }, large, Layer.empty)
        const counted = yield* served({ conversation: { tokens: 1000 }, tokens }, large)
        yield* inside(clients.callToolByName("one_look"))
        yield* inside(counted.clients.callToolByName("one_look"))
        const error = yield* Effect.flip(inside(counted.clients.callToolByName("one_look")))
        assert(error instanceof Budgets.BudgetExceeded)
        assert.strictEqual(error.spending, "tokens")
      }
    })
  )

  it.effect("A limit of NaN allows nothing", () =>
    Effect.gen(function* () {
      const { clients } = yield* served({ conversation: { calls: Number.NaN } })
      assert.instanceOf(yield* Effect.flip(clients.callToolByName("one_look")), Budgets.BudgetExceeded)
    })
  )
})

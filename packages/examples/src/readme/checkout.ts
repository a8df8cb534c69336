import { Elicitation, Once, Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { Torture } from "@effect-mcp/testing"
import { Console, Context, Data, Effect, Layer, Schema } from "effect"

class Timeout extends Data.TaggedError("Timeout")<{}> {}
class Bank extends Context.Service<
  Bank,
  { readonly pay: (key: string) => Effect.Effect<void, Timeout> }
>()("Bank") {}
class Pool extends Context.Service<
  Pool,
  {
    readonly acquire: Effect.Effect<string>
    readonly release: (connection: string) => Effect.Effect<void>
  }
>()("Pool") {}

const Checkout = Tool.make("checkout", { description: "Pays for the cart." })

const wrong = Tools.layer(Checkout, () =>
  Effect.gen(function* () {
    const [bank, pool] = [yield* Bank, yield* Pool]
    const connection = yield* pool.acquire
    // Wrong twice: a cancel keeps the connection, and a payment whose answer is
    // lost is made again.
    yield* Effect.orDie(
      Effect.retry(
        Effect.suspend(() => bank.pay(crypto.randomUUID())),
        { times: 1 }
      )
    )
    yield* Elicitation.confirm("Do you want a receipt?")
    yield* pool.release(connection)
    return "paid"
  })
)

const right = Tools.layer(Checkout, () =>
  Effect.gen(function* () {
    const [bank, pool] = [yield* Bank, yield* Pool]
    // One key for all attempts, and one payment for all rounds of questions.
    const paying = Effect.flatMap(Once.key, (key) =>
      Effect.orDie(Effect.retry(bank.pay(key), { times: 1 }))
    )
    const paid = Once.run("pay", Schema.Void, paying)
    yield* Effect.acquireUseRelease(pool.acquire, () => paid, pool.release)
    yield* Elicitation.confirm("Do you want a receipt?")
    return "paid"
  })
)

// Test doubles that record their results and the steps that cannot be undone.
const bank = Layer.effect(
  Bank,
  Effect.map(Torture.Ledger, ({ happened }) => {
    const keys = new Set<string>()
    return {
      pay: Effect.fnUntraced(function* (key: string) {
        if (!keys.has(key)) yield* happened("payment")
        keys.add(key)
      })
    }
  })
)
const pool = Layer.effect(
  Pool,
  Effect.map(Torture.Ledger, ({ acquired, released }) => ({
    acquire: Effect.as(acquired("connection"), "connection"),
    release: released
  }))
)
const world = Layer.mergeAll(bank, pool, Elicitation.layerAccept())

const tortured = (features: typeof wrong) =>
  Torture.run(Torture.tool(features, Checkout, {}), world, {
    fails: [Torture.failing(Bank, Effect.fail(new Timeout()))],
    revisions: Revision.all.slice(-2)
  })

const program = Effect.gen(function* () {
  const broken = yield* Effect.flip(tortured(wrong))
  yield* Console.log(broken.message)
  const { runs } = yield* tortured(right)
  yield* Console.log(`\nCorrected:\n${Torture.table(runs)}`)
})

await Effect.runPromise(program)

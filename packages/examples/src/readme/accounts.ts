import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer, Schema } from "effect"

const Name = Schema.Literals(["alice", "bob"])
const input = {
  from: Name,
  to: Name,
  amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
}

const Transfer = Tool.make("transfer", { description: "Moves money.", input })
export const Total = Tool.make("total", {
  description: "All the money there is.",
  output: { total: Schema.Int }
})

// An in-process database, in which each access takes a step.
const accounts = Effect.sync(() => {
  const balances = new Map([
    ["alice", 50],
    ["bob", 50]
  ])
  const step = <A>(access: () => A) =>
    Effect.andThen(Effect.yieldNow, Effect.sync(access))
  return {
    read: (name: string) => step(() => balances.get(name) ?? 0),
    write: (name: string, balance: number) =>
      step(() => void balances.set(name, balance)),
    total: Effect.sync(() =>
      [...balances.values()].reduce((sum, balance) => sum + balance, 0)
    )
  }
})

const features = Layer.unwrap(
  Effect.map(accounts, ({ read, total, write }) =>
    Layer.mergeAll(
      Tools.layer(
        Transfer,
        Effect.fnUntraced(function* ({ amount, from, to }) {
          if (from === to) return "nothing to do"
          // Wrong: another transfer may come between the reads and the writes.
          const [rich, poor] = [yield* read(from), yield* read(to)]
          yield* write(from, rich - amount)
          yield* write(to, poor + amount)
          return "moved"
        })
      ),
      Tools.layer(Total, () => Effect.map(total, (total) => ({ total })))
    )
  )
)

export const server = McpServer.layer({
  name: "accounts",
  version: "1.0.0",
  features
})

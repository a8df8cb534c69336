/** Middleware of clients of several servers: the server's name in the table, and questions with other params. */
import * as ClientMiddleware from "@effect-mcp/client/ClientMiddleware"
import * as McpClients from "@effect-mcp/client/McpClients"
import { Sampling, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { member, mortal } from "../support/mortal.ts"

const asking = Tools.layer(Tool.make("think", { description: "Asks the model" }), () =>
  Effect.map(
    Sampling.createMessage({ messages: [{ role: "user", content: { type: "text", text: "all" } }], maxTokens: 1 }),
    Sampling.text
  )
)

/** A model that repeats its prompt. */
const model = Sampling.layer(({ messages: [message] }) =>
  Effect.succeed({
    role: "assistant" as const,
    content: { type: "text" as const, text: JSON.stringify(message?.content) },
    model: "m"
  })
)

describe.each(Revision.all)("middleware of several servers, $version", (revision) => {
  it.effect("Middleware sees which server a request or question belongs to", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const noting: ClientMiddleware.Middleware = {
        request: ({ method, serverName }, next) => {
          if (method === "tools/call") seen.push(`${serverName} called`)
          return next()
        },
        question: ({ method, serverName }, next) => {
          seen.push(`${serverName} asks ${method}`)
          return next
        }
      }
      const clients = yield* Effect.provide(
        McpClients.make({
          a: member(yield* mortal(asking), revision),
          b: member(yield* mortal(asking), revision)
        }),
        Layer.merge(model, ClientMiddleware.layer(noting))
      )
      yield* clients.callToolByName("b_think")
      // Without sessions, a call that asks is sent again with the answer.
      assert.deepStrictEqual([...new Set(seen)], ["b called", "b asks sampling/createMessage"])
    })
  )

  it.effect("Middleware can answer a question with other params, which inner middleware sees", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const changing: ClientMiddleware.Middleware = {
        question: ({ params }, _next, proceed) =>
          proceed({ ...params, messages: [{ role: "user", content: { type: "text", text: "less" } }] })
      }
      const noting: ClientMiddleware.Middleware = {
        question: ({ params }, next) => {
          seen.push(JSON.stringify(params).includes("less") ? 1 : 0)
          return next
        }
      }
      const { callToolByName } = yield* Effect.provide(
        McpClients.make({ a: member(yield* mortal(asking), revision) }),
        Layer.merge(model, ClientMiddleware.layer(changing, noting))
      )
      const { content } = yield* callToolByName("a_think")
      assert.include(JSON.stringify(content), "less")
      assert.deepStrictEqual(seen, [1])
    })
  )
})

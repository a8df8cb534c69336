/** The server log of a handler that dies: the name of the handler, and whether its output failed to encode. */
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, Schema } from "effect"
import { everyVersion, session } from "../support/raw.ts"

const bug = Effect.die(new TypeError("x is undefined"))
const Whole = Schema.Struct({ n: Schema.Int })
class Full extends Schema.TaggedError<Full>()("Full", { seats: Schema.Int }) {}
const features = Layer.mergeAll(
  Tools.layer(Tool.make("t", { description: "" }), () => bug),
  Tools.layer(Tool.make("later", { description: "" }), () => Effect.andThen(Effect.yieldNow, bug)),
  Prompts.layer(Prompt.make("p"), () => bug),
  Resources.layer({ uri: "r:", name: "r" }, bug),
  Resources.layerTemplate({ uriTemplate: "x:{id}", name: "x" }, () => bug),
  Tools.layer(Tool.make("halves", { description: "", output: Whole }), () => Effect.succeed({ n: 0.5 })),
  Tools.layer(Tool.make("fails", { description: "", failure: Full }), () =>
    Effect.fail(new Full({ seats: 0.5 }, { disableChecks: true }))
  )
)

describe("Handler defects", () => {
  for (const version of everyVersion()) {
    for (const [method, params, said] of [
      [
        "tools/call",
        { name: "t" },
        'The handler for tools/call "t" threw an unexpected error TypeError: x is undefined'
      ],
      [
        "tools/call",
        { name: "later" },
        'The handler for tools/call "later" threw an unexpected error TypeError: x is undefined'
      ],
      [
        "prompts/get",
        { name: "p" },
        'The handler for prompts/get "p" threw an unexpected error TypeError: x is undefined'
      ],
      [
        "resources/read",
        { uri: "r:" },
        'The handler for resources/read "r:" threw an unexpected error TypeError: x is undefined'
      ],
      [
        "resources/read",
        { uri: "x:1" },
        'The handler for resources/read "x:1" threw an unexpected error TypeError: x is undefined'
      ],
      ["tools/call", { name: "halves" }, "The output of the tool halves does not match its output schema: "],
      ["tools/call", { name: "fails" }, "The failure of the tool fails does not match its failure schema: "]
    ] as const) {
      it.effect(
        `A handler defect is logged with the handler's name, and the client only sees -32603: ${JSON.stringify(params)} (${version})`,
        () =>
          Effect.gen(function* () {
            const logged: Array<string> = []
            const logger = Logger.make(({ cause, message }) => {
              const [defect] = cause.reasons.filter(Cause.isDieReason)
              logged.push(`${String(message)} ${String(defect?.defect)}`)
            })
            const client = yield* Effect.provide(session(features, { version }), Logger.layer([logger]))
            const error = yield* client.refused(method, params)
            assert.deepStrictEqual([error.code, error.message], [McpError.InternalError, "Internal error"])
            assert.strictEqual(logged.length, 1)
            assert.include(logged[0], said)
            if ("name" in params && params.name === "halves") assert.include(logged[0], '["n"]')
          })
      )
    }
  }

  it.effect("A long handler name is truncated in the log", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      const client = yield* Effect.provide(session(features), Logger.layer([logger]))
      yield* client.refused("resources/read", { uri: `x:${"\u001b".repeat(5000)}` })
      assert.isBelow(logged.join("").length, 1000)
      assert.notInclude(logged.join(""), "\u001b")
    })
  )
})

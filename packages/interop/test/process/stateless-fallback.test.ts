/** A client of both eras detects the era of the server: our client with every server, and every client with ours. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import type { Revision } from "@effect-mcp/protocol"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"
import type { Question } from "../support/official.ts"
import { client, fileOf, Host, layerClient, textOf } from "../support/our-client.ts"
import { connector as v1 } from "../support/sdk-v1.ts"
import { serverFile } from "../support/official.ts"

const timeout = 30_000
const bin = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

interface Server {
  readonly name: string
  readonly args: ReadonlyArray<string>
  readonly speaks: Revision.Version
  readonly echo: string
}

const echoes: ReadonlyArray<Server> = [
  { name: "the SDK v1", args: [fileOf("../fixtures/sdk-v1-server.ts")], speaks: "2025-11-25", echo: "hi" },
  { name: "the single-era SDK v2", args: [fileOf("../fixtures/sdk-v2-server.ts")], speaks: "2025-11-25", echo: "hi" },
  { name: "server-everything", args: [bin, "stdio"], speaks: "2025-11-25", echo: "Echo: hi" },
  { name: "our server", args: [serverFile, "--stdio"], speaks: "2026-07-28", echo: "hi" }
]

describe("Our client with default options", () => {
  for (const { args, echo, name, speaks } of echoes) {
    it.live(
      `Our client detects that ${name} uses ${speaks}`,
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          assert.strictEqual(mcp.revision.version, speaks)
          assert.strictEqual(textOf(yield* mcp.callToolByName("echo", { message: "hi" })), echo)
          assert.deepStrictEqual((yield* Host).dropped, [])
        }).pipe(Effect.provide(layerClient(args, { exitTimeout: "100 millis" }))),
      { ...verifies("stdio.compatibility.probes", "stdio.compatibility.any-error"), timeout }
    )
  }

  it.live(
    "Our client performs a handshake with a server that ignores its probe",
    () =>
      Effect.gen(function* () {
        const mcp = yield* client
        assert.strictEqual(mcp.revision.version, "2024-11-05")
        assert.strictEqual(textOf(yield* mcp.callToolByName("any")), "said at last")
      }).pipe(Effect.provide(layerClient([fileOf("../fixtures/silent-server.ts")], { probeTimeout: "200 millis" }))),
    { ...verifies("stdio.compatibility.probes"), timeout }
  )

  it.live(
    "Our client restarts a server that exits on its probe",
    () =>
      Effect.gen(function* () {
        const mcp = yield* client
        assert.strictEqual(mcp.revision.version, "2025-06-18")
        assert.strictEqual(textOf(yield* mcp.callToolByName("any")), "said at last")
      }).pipe(Effect.provide(layerClient([fileOf("../fixtures/strict-server.ts")]))),
    { ...verifies("stdio.compatibility.any-error"), timeout }
  )

  it.live(
    "Our 2026-07-28-only client rejects an older server with a reason",
    () =>
      Effect.gen(function* () {
        const refused = (args: ReadonlyArray<string>) =>
          Effect.flip(
            Effect.scoped(
              Layer.build(
                Layer.provide(
                  McpClient.layerStdio({
                    command: process.execPath,
                    args,
                    env: compileCache,
                    revisions: ["2026-07-28"]
                  }),
                  NodeServices.layer
                )
              )
            )
          )
        const old = yield* refused([fileOf("../fixtures/sdk-v1-server.ts")])
        assert.strictEqual(old._tag, "UnsupportedRevision")
        const ours = yield* refused([serverFile, "--stdio", "--revision", "2025-11-25"])
        assert.strictEqual(ours._tag, "UnsupportedRevision")
        assert.match(ours.message, /2025-11-25/)
      }),
    { ...verifies("stdio.compatibility.probes-modern", "versioning.unsupported.client-retries"), timeout }
  )
})

describe("The SDK v1 client and our dual-era server", () => {
  it.live(
    "Our server asks the SDK v1 client by request and a stateless client in rounds",
    () =>
      Effect.gen(function* () {
        const asked: Array<Question> = []
        const answers: { readonly [Q in Question]: object } = {
          "elicitation/create": { action: "accept", content: { name: "Ada", color: "red", ok: true, context: "cats" } },
          "sampling/createMessage": { role: "assistant", model: "parrot", content: { type: "text", text: "Paris" } },
          "roots/list": { roots: [{ uri: "file:///here" }] }
        }
        const sdk = yield* Effect.acquireRelease(
          Effect.promise(() =>
            v1({
              args: [serverFile, "--stdio"],
              notify: () => {},
              answer: (question) => {
                asked.push(question)
                return answers[question]
              }
            })
          ),
          (sdk) => Effect.promise(() => sdk.close())
        )
        const text = (name: string) =>
          Effect.map(
            Effect.promise(() => sdk.callTool(`test_input_required_result_${name}`)),
            ({ content }) => content[0].text
          )
        assert.strictEqual(yield* text("multiple_inputs"), "Paris Ada, working in 1 folders")
        assert.strictEqual(yield* text("multi_round"), "Ada likes red")
        assert.strictEqual(yield* text("request_state"), "state-ok")
        const prompt = yield* Effect.promise(() => sdk.getPrompt({ name: "test_input_required_result_prompt" }))
        assert.strictEqual(prompt.messages[0].content.text, "Let us talk about cats.")
        assert.sameMembers(asked.slice(0, 3), ["elicitation/create", "sampling/createMessage", "roots/list"])
        assert.strictEqual(asked.length, 7)
      }),
    timeout
  )
})

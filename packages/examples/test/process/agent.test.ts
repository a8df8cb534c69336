/** The agent with a provider configured in the environment: here a local server that speaks chat completions. */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { createServer } from "node:http"
import { json } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../src/ai/agent.ts", import.meta.url))

interface Asked {
  readonly url: string | undefined
  readonly authorization: string | undefined
  readonly body: {
    readonly model: string
    readonly tools: ReadonlyArray<{ readonly function: { readonly name: string; readonly parameters: object } }>
    readonly messages: ReadonlyArray<object>
  }
}

const call = { id: "call_1", type: "function", function: { name: "forecast", arguments: '{"city":"Rome"}' } }

/** Calls the tool first, and then repeats its result. */
const provider = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly asked: ReadonlyArray<Asked>; readonly close: () => void }>(
    (resume) => {
      const asked: Array<Asked> = []
      const server = createServer((request, response) => {
        const { authorization } = request.headers
        void json(request).then((body) => {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the assertions below look at it
          asked.push({ url: request.url, authorization, body: body as Asked["body"] })
          const message = asked.length === 1 ? { content: null, tool_calls: [call] } : { content: "24 degrees in Rome" }
          response.setHeader("content-type", "application/json").end(JSON.stringify({ choices: [{ message }] }))
        })
      }).listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}/v1`, asked, close: () => server.close() }))
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

layer(NodeServices.layer, { excludeTestServices: true })("agent with a provider", (it) => {
  it.effect("The agent offers the provider the server's tools and returns each call's result", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* provider
      const env = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: url, AGENT_MODEL: "small" }
      const child = yield* ChildProcess.make(process.execPath, [program], { stdin: "ignore", env, extendEnv: true })
      const [output, code] = yield* Effect.all([Stream.mkString(Stream.decodeText(child.all)), child.exitCode], {
        concurrency: 2
      })
      assert.strictEqual(Number(code), 0, output)
      assert.strictEqual(output.trim(), "24 degrees in Rome")
      const [first, second] = asked
      assert.strictEqual(asked.length, 2)
      assert.deepStrictEqual([first?.url, first?.authorization], ["/v1/chat/completions", "Bearer key"])
      assert.deepStrictEqual([first?.body.model, first?.body.tools[0]?.function.name], ["small", "forecast"])
      assert.containsAllKeys(first?.body.tools[0]?.function.parameters, ["type", "properties"])
      assert.deepStrictEqual(first?.body.messages, [{ role: "user", content: "How warm is it in Rome tomorrow?" }])
      assert.deepStrictEqual(second?.body.messages.slice(1), [
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: '{"celsius":24}' }
      ])
    })
  )
})

/** The reference server published by the protocol's own project, on the official SDK and on the shim. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import { comparable } from "../support/comparable.ts"
import { clientV1, type Kind } from "../support/modules.ts"
import { clientOf } from "../support/v1.ts"

const program = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))
const shimmed = new URL("../fixtures/shimmed.ts", import.meta.url).href

const connected = async (kind: Kind) => {
  const sdk = await clientV1("official")
  const client = clientOf(sdk)
  const args = [...(kind === "shim" ? ["--import", shimmed] : []), program, "stdio"]
  await client.connect(new sdk.StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }))
  onTestFinished(() => client.close())
  return client
}

/** Returns everything that a client sees of the server. */
const seen = async (kind: Kind) => {
  const client = await connected(kind)
  const call = (name: string, args = {}) => client.callTool({ name, arguments: args })
  const { tools } = await client.listTools()
  return comparable({
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    tools,
    echo: await call("echo", { message: "hello" }),
    sum: await call("get-sum", { a: 1, b: 2 }),
    structured: await call("get-structured-content", { location: "Chicago" }),
    links: await call("get-resource-links", { count: 2 }),
    annotated: await call("get-annotated-message", { messageType: "error", includeImage: true }),
    elicited: await call("trigger-elicitation-request"),
    sampled: await call("trigger-sampling-request", { prompt: "Say it" }),
    resources: await client.listResources(),
    templates: await client.listResourceTemplates(),
    // The SDK omits the description of an optional argument.
    prompts: (await client.listPrompts()).prompts.map(({ arguments: args, ...prompt }) => [
      prompt,
      args?.map(({ name, required }) => [name, required])
    ]),
    prompt: await client.getPrompt({ name: "args-prompt", arguments: { city: "Oslo" } }),
    completed: await client.complete({
      ref: { type: "ref/prompt", name: "completable-prompt" },
      argument: { name: "name", value: "A" },
      context: { arguments: { department: "Engineering" } }
    })
  })
}

describe("server-everything", () => {
  it("Clients see the same on the compatibility layer as on the official SDK", async () => {
    const [official, shim] = await Promise.all([seen("official"), seen("shim")])
    assert.deepStrictEqual(shim, official)
  })
})

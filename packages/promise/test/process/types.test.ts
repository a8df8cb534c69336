/** The public types: declarations without Effect, models that match the protocol, and typed handlers. */
import {
  type CallToolResult,
  type Completion,
  type ContentBlock,
  type ElicitationAnswer,
  type GetPromptResult,
  type HandlerContext,
  type Implementation,
  type Jsonified,
  type LogMessage,
  McpServer,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplate,
  type Root,
  type SamplingParams,
  type SamplingResult,
  type Tool,
  type Variables
} from "@effect-mcp/promise"
import type * as Models from "@effect-mcp/protocol"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { z } from "zod"

const root = resolve(import.meta.dirname, "../..")

/** Returns a module's declarations with all declarations that they import, and the imported packages. */
const declarationsOf = (
  entry: string
): { readonly files: ReadonlySet<string>; readonly packages: ReadonlySet<string> } => {
  const files = new Set<string>()
  const packages = new Set<string>()
  const open = [entry]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file)) continue
    files.add(file)
    const code = readFileSync(file, "utf8").replaceAll(/\/\*[^]*?\*\//g, "")
    for (const [, name = ""] of code.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
      if (name.startsWith(".")) open.push(join(dirname(file), name.replace(/\.[jt]s$/, ".d.ts")))
      else packages.add(name)
    }
  }
  return { files, packages }
}

describe("Published declarations", () => {
  it("The published declarations import nothing from Effect or the underlying packages", () => {
    const built = spawnSync(process.execPath, [resolve(root, "../../node_modules/typescript/bin/tsc"), "-b", root], {
      encoding: "utf8"
    })
    assert.strictEqual(built.status, 0, built.stdout)
    const { exports }: { exports: Record<string, string> } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8")
    )
    // Internal entries are for packages of this repository.
    const entries = Object.entries(exports).flatMap(([name, path]) =>
      path.endsWith(".ts") && !name.startsWith("./internal/") ? [path] : []
    )
    assert.lengthOf(entries, 3)
    for (const entry of entries) {
      const file = join(root, entry.replace("./src/", "dist/").replace(/\.ts$/, ".d.ts"))
      assert.isTrue(existsSync(file), file)
      const { files, packages } = declarationsOf(file)
      assert.isAtLeast(files.size, 6)
      assert.deepStrictEqual(
        [...packages].filter((name) => !["@standard-schema/spec", "node:http"].includes(name)),
        []
      )
    }
  })
})

describe("Models", () => {
  it("The models match the protocol in both directions", () => {
    // Programs send values of the first type and receive values of the second.
    expectTypeOf<Models.Tool.CallToolResult>().toExtend<CallToolResult>()
    expectTypeOf<CallToolResult>().toExtend<Models.Tool.CallToolResult>()
    expectTypeOf<Models.Tool.Tool>().toExtend<Tool>()
    expectTypeOf<Tool>().toExtend<Models.Tool.Tool>()
    expectTypeOf<Models.Content.ContentBlock>().toExtend<ContentBlock>()
    expectTypeOf<ContentBlock>().toExtend<Models.Content.ContentBlock>()
    expectTypeOf<Models.Resource.Resource>().toExtend<Resource>()
    expectTypeOf<Resource>().toExtend<Models.Resource.Resource>()
    expectTypeOf<Models.Resource.ResourceTemplate>().toExtend<ResourceTemplate>()
    expectTypeOf<Models.Resource.ReadResourceResult>().toExtend<ReadResourceResult>()
    expectTypeOf<ReadResourceResult>().toExtend<Models.Resource.ReadResourceResult>()
    expectTypeOf<Models.Prompt.Prompt>().toExtend<Prompt>()
    expectTypeOf<Models.Prompt.GetPromptResult>().toExtend<GetPromptResult>()
    expectTypeOf<GetPromptResult>().toExtend<Models.Prompt.GetPromptResult>()
    expectTypeOf<Models.Completion.CompleteResult["completion"]>().toExtend<Completion>()
    expectTypeOf<Models.Implementation.Implementation>().toExtend<Implementation>()
    expectTypeOf<Implementation>().toExtend<Models.Implementation.Implementation>()
    expectTypeOf<Models.Root.Root>().toExtend<Root>()
    expectTypeOf<Root>().toExtend<Models.Root.Root>()
    expectTypeOf<Models.Logging.LogMessageParams>().toExtend<LogMessage>()
    expectTypeOf<Models.Sampling.CreateMessageParams>().toExtend<SamplingParams>()
    expectTypeOf<SamplingParams>().toExtend<Models.Sampling.CreateMessageParams>()
    expectTypeOf<Models.Sampling.CreateMessageResult>().toExtend<SamplingResult>()
    expectTypeOf<SamplingResult>().toExtend<Models.Sampling.CreateMessageResult>()
    expectTypeOf<ElicitationAnswer>().toExtend<Models.Elicitation.ElicitResult>()
  })
})

describe("Handler types", () => {
  it("A handler is typed by its schemas, template and steps", () => {
    const server = new McpServer({ name: "types", version: "1.0.0" })
    const input = z.object({ n: z.string().transform(Number) })
    server.tool("typed", { description: "Typed", input, output: z.object({ m: z.number() }) }, (args, context) => {
      expectTypeOf(args).toEqualTypeOf<{ n: number }>()
      expectTypeOf(context).toEqualTypeOf<HandlerContext>()
      return { m: args.n }
    })
    // @ts-expect-error -- the output lacks a field
    server.tool("wrong", { description: "Wrong", output: z.object({ m: z.number() }) }, () => ({}))
    const output = z.object({ status: z.enum(["working", "done"]), kinds: z.array(z.enum(["a", "b"])).optional() })
    server.tool("literal", { description: "Literals", output }, () => ({ status: "working" }))
    server.tool("later", { description: "Literals", output }, async () => ({ status: "done", kinds: ["a", "b"] }))
    server.tool("either", { description: "Literals", input, output }, async ({ n }) => {
      await Promise.resolve()
      return n > 1 ? { status: "done" } : { status: "working" }
    })
    // @ts-expect-error -- no member of the enum
    server.tool("other", { description: "Literals", output }, () => ({ status: "failed" }))
    // @ts-expect-error -- no member of the enum
    server.tool("otherLater", { description: "Literals", output }, async () => ({ status: "failed" }))
    const one = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("circle"), radius: z.number() }),
      z.object({ kind: z.literal("square"), side: z.number() })
    ])
    server.tool("union", { description: "Unions", output: one }, async () => ({ kind: "circle", radius: 1 }))
    server.tool("none", { description: "None" }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{}>()
    })
    server.template("x://{id}/{list*}{?page}", { name: "x" }, ({ id, list, page }) => {
      expectTypeOf(id).toEqualTypeOf<string>()
      expectTypeOf(list).toEqualTypeOf<string | ReadonlyArray<string>>()
      expectTypeOf(page).toEqualTypeOf<string | undefined>()
      return id
    })
    expectTypeOf<keyof Variables<"y://{+a,b:3}{#c}">>().toEqualTypeOf<"a" | "b" | "c">()
    const complete = { other: () => [] }
    // @ts-expect-error -- the template has no such variable
    assert.throws(() => server.template("z://{id}", { name: "z", complete }, () => ""))
    const options = { arguments: z.object({ a: z.string() }), complete }
    // @ts-expect-error -- the prompt has no such argument
    assert.throws(() => server.prompt("p", options, () => ""))
    expectTypeOf<Jsonified<{ at: Date; n: number; f: () => void }>>().toEqualTypeOf<{
      readonly at: string
      readonly n: number
      readonly f: never
    }>()
    const elicitation = {
      form: ({ message }: { message: string }): ElicitationAnswer => ({ action: "accept", content: { message } })
    }
    expectTypeOf(elicitation.form({ message: "" })).toEqualTypeOf<ElicitationAnswer>()
  })
})

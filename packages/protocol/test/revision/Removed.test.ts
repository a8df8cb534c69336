import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Revision from "@effect-mcp/protocol/Revision"
import { removed } from "../../src/revision/Removed.ts"
import { declaration, inputRequired, revision as july } from "@effect-mcp/protocol/internal/eras"
import { verifies } from "@effect-mcp/spec/verifies"

type Fields = { readonly [key: string]: unknown }
type AnyCodec = Schema.Codec<unknown, unknown>
const write = (codec: unknown, value: unknown) => Schema.encodeUnknownSync(codec as AnyCodec)(value)

// Wraps a value into a message of 2026-07-28, and returns only the value from the result.
const clientKey = "io.modelcontextprotocol/clientCapabilities"
const client = (capabilities: Fields) => {
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", [clientKey]: capabilities }
  return (write(declaration, meta) as Fields)[clientKey]
}
const server = (capabilities: Fields) =>
  (write(july.clientRequests["server/discover"]?.result, { supportedVersions: [], capabilities }) as Fields)[
    "capabilities"
  ]
const base = { name: "t", inputSchema: { type: "object" } }
const tool = (fields: Fields) => {
  const { tools } = write(july.clientRequests["tools/list"]?.result, { tools: [{ ...base, ...fields }] }) as {
    tools: ReadonlyArray<Fields>
  }
  const { name: _name, inputSchema: _schema, ...rest } = tools[0]!
  return rest
}
const cancelled = (fields: Fields) => write(july.serverNotifications["notifications/cancelled"], fields)
const elicit = (params: Fields) => write(july.serverRequests["elicitation/create"]?.params, params)
const form = (property: Fields) => ({ message: "m", requestedSchema: { type: "object", properties: { p: property } } })
const property = (fields: Fields) => (elicit(form(fields)) as ReturnType<typeof form>).requestedSchema.properties.p

const url = { mode: "url", message: "m", url: "https://a.b" }
const named = { type: "string", enum: ["a", "b", "c"], enumNames: ["A", "B"], title: "T", default: "b" }
const oneOf = [
  { const: "a", title: "A" },
  { const: "b", title: "B" },
  { const: "c", title: "c" }
]

interface Case {
  readonly row: string
  readonly write: (fields: Fields) => unknown
  readonly say: Fields
  readonly gets?: Fields
  readonly refused?: string
}
const cases: ReadonlyArray<Case> = [
  { row: "ClientCapabilities.tasks drop", write: client, say: { tasks: {}, sampling: {} }, gets: { sampling: {} } },
  {
    row: "ClientCapabilities.roots rewrite",
    write: client,
    say: { roots: { listChanged: true, "x-a": 1 } },
    gets: { roots: { "x-a": 1 } }
  },
  { row: "ServerCapabilities.tasks drop", write: server, say: { tasks: {}, tools: {} }, gets: { tools: {} } },
  { row: "Tool.execution drop", write: tool, say: { execution: { taskSupport: "optional" } }, gets: {} },
  {
    row: "CancelledParams.requestId error",
    write: cancelled,
    say: { reason: "r" },
    refused: "MCP 2026-07-28 cannot express a cancellation without a request id"
  },
  { row: "ElicitUrlParams.elicitationId drop", write: elicit, say: { ...url, elicitationId: "1" }, gets: url },
  {
    row: "EnumSchema.enumNames rewrite",
    write: property,
    say: named,
    gets: { type: "string", title: "T", default: "b", oneOf }
  }
]

describe("Values removed in 2026-07-28", () => {
  it("Every row of the removal table has exactly one case here", () => {
    const rows = removed.map((row) => `${row.type}.${row.field ?? "*"} ${row.how}`)
    assert.deepStrictEqual(cases.map(({ row }) => row).toSorted(), rows.toSorted())
    assert.isTrue(removed.every((row) => row.since === "2026-07-28"))
  })

  for (const { row, write, say, gets, refused } of cases) {
    it(`The removal of ${row} applies from 2026-07-28`, () => {
      if (refused === undefined) assert.deepStrictEqual(write(say), gets)
      else assert.throws(() => write(say), refused)
    })
  }

  it("A value removed in 2026-07-28 is still written by revisions that have it", () => {
    const november = Revision.get("2025-11-25")!
    const page = { ...url, elicitationId: "1" }
    assert.strictEqual(write(november.serverRequests["elicitation/create"]?.params, page), page)
    const choice = form(named)
    assert.strictEqual(write(november.serverRequests["elicitation/create"]?.params, choice), choice)
  })

  it("A value removed in 2026-07-28 can still be read", () => {
    const read = Schema.decodeUnknownSync(july.serverRequests["elicitation/create"]!.params)
    const choice = form(named)
    assert.deepStrictEqual(read(choice), choice as never)
  })

  it(
    "A URL question in 2026-07-28 has no elicitationId, even inside a result",
    verifies("elicitation.url.fields"),
    () => {
      const asking = (params: Fields) => ({
        resultType: "input_required",
        inputRequests: { a: { method: "elicitation/create", params } }
      })
      assert.deepStrictEqual(write(inputRequired, asking({ ...url, elicitationId: "1" })), asking(url))
      for (const key of ["message", "url"]) {
        assert.throws(() => write(inputRequired, asking({ ...url, [key]: undefined })), /Expected/)
      }
    }
  )
})

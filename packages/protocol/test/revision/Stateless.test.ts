import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import { declaration, inputRequired, revision } from "@effect-mcp/protocol/internal/eras"
import { verifies } from "@effect-mcp/spec/verifies"

type AnyCodec = Schema.Codec<unknown, unknown>
const read = (codec: AnyCodec, wire: unknown) => Schema.decodeUnknownSync(codec)(wire)
/** True if decoding and encoding return the same value. */
const survives = (codec: AnyCodec | undefined, wire: unknown): boolean => {
  assert.isDefined(codec)
  assert.deepStrictEqual(Schema.encodeUnknownSync(codec)(read(codec, wire)), wire)
  return true
}
const isRefused = (codec: AnyCodec, wire: unknown): boolean => {
  assert.throws(() => read(codec, wire), /Expected|Missing|needs/)
  return true
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "a client", version: "2" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, sampling: { tools: {} } },
  "io.modelcontextprotocol/logLevel": "warning",
  traceparent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
}
const elicitation = {
  method: "elicitation/create",
  params: { message: "Which floor?", requestedSchema: { type: "object", properties: { floor: { type: "integer" } } } }
}
const sampling = {
  method: "sampling/createMessage",
  params: { maxTokens: 8, messages: [{ role: "user", content: { type: "text", text: "A name for a lift?" } }] }
}
const roots = { method: "roots/list" }
const asking = { resultType: "input_required", inputRequests: { floor: elicitation, "2": sampling, dirs: roots } }

describe("Revision 2026-07-28", () => {
  it("2026-07-28 is found by name but never negotiated in a handshake", () => {
    assert.strictEqual(Revision.get("2026-07-28"), revision)
    assert.deepStrictEqual(
      Revision.stateless.map(({ era, version }) => [version, era]),
      [["2026-07-28", "stateless"]]
    )
    assert.notInclude(Revision.stateful, revision)
    assert.strictEqual(Revision.latestStateful.version, "2025-11-25")
  })

  it("2026-07-28 differs from 2025-11-25 in a few rules", () => {
    const { anyStructuredContent, extensions, missingCapability, polling, resourceNotFound, tasks, ...same } =
      revision.rules
    const before = Revision.latestStateful.rules
    assert.deepStrictEqual(
      [anyStructuredContent, extensions, missingCapability, polling, resourceNotFound, tasks],
      [true, "extensions", "error", false, -32602, false]
    )
    assert.deepStrictEqual(
      {
        ...same,
        anyStructuredContent: false,
        extensions: "experimental" as const,
        missingCapability: "result" as const,
        polling: true,
        resourceNotFound: -32002,
        tasks: true
      },
      before
    )
  })

  it("Request declarations in 2026-07-28 are read, and a request without them is rejected", () => {
    assert.isTrue(survives(declaration, meta))
    assert.isTrue(survives(declaration, { ...meta, progressToken: 0, "com.example/a": null }))
    for (const key of ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"]) {
      assert.isTrue(isRefused(declaration, Object.fromEntries(Object.entries(meta).filter(([name]) => name !== key))))
    }
    assert.isTrue(isRefused(declaration, { ...meta, "io.modelcontextprotocol/logLevel": "loud" }))
    assert.isTrue(isRefused(declaration, { ...meta, "io.modelcontextprotocol/clientInfo": { name: "a client" } }))
    assert.isTrue(isRefused(declaration, undefined))
  })

  it("The server/discover result in 2026-07-28 contains the server's versions and capabilities", () => {
    assert.isTrue(
      survives(revision.clientRequests["server/discover"]!.result, {
        resultType: "complete",
        supportedVersions: ["2026-07-28", "2025-11-25"],
        capabilities: { tools: { listChanged: true }, extensions: { "com.example/a": {} } },
        instructions: "Ask first.",
        ttlMs: 60000,
        cacheScope: "public",
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "a server", version: "1" } }
      })
    )
  })

  it("2026-07-28 opens, acknowledges and ends a subscription", () => {
    const { params, result } = revision.clientRequests["subscriptions/listen"]!
    const notifications = { toolsListChanged: true, promptsListChanged: false, resourceSubscriptions: ["a:b"] }
    const mine = (id: unknown) => ({ _meta: { "io.modelcontextprotocol/subscriptionId": id } })
    assert.isTrue(survives(params, { _meta: meta, notifications }))
    assert.isTrue(
      survives(revision.serverNotifications["notifications/subscriptions/acknowledged"], {
        ...mine(0),
        notifications
      })
    )
    assert.isTrue(
      survives(revision.serverNotifications["notifications/resources/updated"], { ...mine("s"), uri: "a:b/c" })
    )
    assert.isTrue(survives(revision.serverNotifications["notifications/tools/list_changed"], mine(0)))
    assert.isTrue(survives(result, { ...mine("s"), resultType: "complete" }))
    assert.isTrue(isRefused(params, { _meta: meta }))
    for (const id of [null, 1.5, undefined]) assert.isTrue(isRefused(result, mine(id)))
    assert.isTrue(isRefused(result, {}))
  })

  it(
    "A result that asks for input in 2026-07-28 can contain three kinds of questions",
    verifies("mrtr.questions.kinds"),
    () => {
      assert.isTrue(survives(inputRequired, { ...asking, requestState: "opaque", _meta: { a: 1 } }))
      for (const question of [
        { method: "ping" },
        { method: "elicitation/create" },
        { params: elicitation.params },
        null
      ]) {
        const other = { ...asking, inputRequests: { a: question } }
        assert.isTrue(isRefused(inputRequired, other))
        assert.throws(() => Schema.encodeUnknownSync(inputRequired)(other), /Expected|Missing/)
      }
    }
  )

  it("A result that asks for input in 2026-07-28 has questions or a state", verifies("mrtr.result.not-empty"), () => {
    assert.isTrue(survives(inputRequired, { resultType: "input_required", requestState: "" }))
    assert.isTrue(survives(inputRequired, { resultType: "input_required", inputRequests: {} }))
    assert.isTrue(isRefused(inputRequired, { resultType: "input_required" }))
    assert.throws(() => Schema.encodeUnknownSync(inputRequired)({ resultType: "input_required" }), /needs/)
    assert.isTrue(isRefused(inputRequired, { resultType: "complete", requestState: "s" }))
  })

  it("A 2026-07-28 request accepts answers without decoding them", () => {
    const answers = { inputResponses: { floor: { action: "accept", content: { floor: 3 } }, "?": { a: 1 } } }
    assert.isTrue(
      survives(revision.clientRequests["tools/call"]!.params, {
        _meta: meta,
        name: "lift",
        ...answers,
        requestState: "opaque"
      })
    )
    assert.isTrue(survives(revision.clientRequests["prompts/get"]!.params, { _meta: meta, name: "lift", ...answers }))
    assert.isTrue(
      survives(revision.clientRequests["resources/read"]!.params, { _meta: meta, uri: "a:b", requestState: "opaque" })
    )
    assert.isTrue(
      isRefused(revision.clientRequests["tools/call"]!.params, { name: "lift", inputResponses: { floor: 3 } })
    )
    assert.isTrue(isRefused(revision.clientRequests["tools/call"]!.params, { name: "lift", requestState: {} }))
  })

  it("A 2026-07-28 tool can have structured content and output schemas of any JSON type", () => {
    for (const structuredContent of [[1], "a", 0, false, null, { a: 1 }]) {
      const wire = { resultType: "complete", content: [], structuredContent }
      assert.isTrue(survives(revision.clientRequests["tools/call"]!.result, wire))
    }
    const tool = { name: "t", inputSchema: { type: "object" }, outputSchema: { type: "array", items: true } }
    assert.isTrue(
      survives(revision.clientRequests["tools/list"]!.result, {
        resultType: "complete",
        ttlMs: 0,
        cacheScope: "private",
        tools: [tool]
      })
    )
  })
})

describe("Errors in 2026-07-28", () => {
  const plain = ({ code, data, message }: McpError.McpError) => ({ code, data, message })

  it("Error -32021 in 2026-07-28 lists the capabilities a request lacks", () => {
    assert.deepStrictEqual(plain(McpError.missingClientCapability({ elicitation: { url: {} }, roots: {} })), {
      code: -32021,
      message: "The client does not support elicitation, roots",
      data: { requiredCapabilities: { elicitation: { url: {} }, roots: {} } }
    })
  })

  it("Error -32022 in 2026-07-28 lists the supported versions", () => {
    assert.deepStrictEqual(plain(McpError.unsupportedProtocolVersion(["2026-07-28"], "1900-01-01")), {
      code: -32022,
      message: "Unsupported protocol version: 1900-01-01",
      data: { supported: ["2026-07-28"], requested: "1900-01-01" }
    })
  })

  it("Error -32020 in 2026-07-28 describes the header mismatch", () => {
    assert.deepStrictEqual(plain(McpError.headerMismatch("Mcp-Name is a, but the body says b")), {
      code: -32020,
      message: "Header mismatch: Mcp-Name is a, but the body says b",
      data: undefined
    })
  })
})

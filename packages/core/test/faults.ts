/** Faults of the core, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { statements } from "./faults/statements.ts"

const framing = "packages/core/src/transport/Framing.ts"
const depth = "packages/core/src/internal/depth.ts"
const deadlines = "packages/core/src/internal/Deadlines.ts"
const deadlinesTest = "packages/core/test/internal/Deadlines.test.ts"
const framingTest = "packages/core/test/transport/Framing.model.test.ts"
const depthTest = "packages/core/test/transport/Depth.test.ts"

export const faults: ReadonlyArray<Fault> = [
  ...statements,
  {
    name: "The _meta of a message is a member of what an extension decodes of it",
    file: "packages/core/src/contract/MessageCodec.ts",
    from: '!Object.hasOwn(wire, "_meta")',
    to: 'Object.hasOwn(wire, "_meta")',
    test: "packages/core/test/contract/Extension.test.ts"
  },
  {
    name: "The _meta of a message never reaches the shape that has a field for it",
    file: "packages/core/src/contract/MessageCodec.ts",
    from: "seesMeta ? wire : rest",
    to: "seesMeta ? rest : rest",
    test: "packages/core/test/contract/Extension.test.ts"
  },
  {
    name: "The reason of a cancel does not reach the finalizers of the handler",
    file: "packages/core/src/peer/Inbound.ts",
    from: "reason === undefined ? undefined : CancelReason.annotation(reason)",
    to: "undefined",
    test: "packages/core/test/peer/CancelReason.test.ts"
  },
  {
    name: "A request fails where what makes its span cannot be loaded",
    file: "packages/core/src/peer/Tracing.ts",
    from: "Effect.orElseSucceed(used, () => undefined)",
    to: "Effect.orDie(used)",
    test: "packages/core/test/peer/LateSpans.test.ts"
  },
  {
    name: "An effect is taken for one that has ended by the name of its class",
    file: "packages/core/src/internal/eager.ts",
    from: "prototype === failure || Exit.isExit(effect)",
    to: 'prototype === failure || Exit.isExit(effect) || "_tag" in effect',
    test: "packages/core/test/internal/eager.test.ts"
  },
  {
    name: "What JavaScript gives in place of an effect throws where it is looked at",
    file: "packages/core/src/internal/eager.ts",
    from: '  if (typeof effect !== "object" || effect === null) return false\n',
    to: "",
    test: "packages/core/test/internal/eager.test.ts"
  },
  {
    name: "A timer that is discarded ends all deadlines",
    file: deadlines,
    from: "now - this.wakesAt > linger",
    to: "false",
    test: deadlinesTest
  },
  {
    name: "An entry that throws when it is due ends all deadlines",
    file: deadlines,
    from: "this.deadlines.attempt(() => this.overdue(entry))",
    to: "this.overdue(entry)",
    test: deadlinesTest
  },
  {
    name: "requests that were cancelled are kept without end",
    file: "packages/core/src/peer/Outbound.ts",
    from: "const maxCancelled = 64",
    to: "const maxCancelled = Infinity",
    test: "packages/core/test/peer/Peer.outbound.test.ts"
  },
  {
    name: "A cancel that cannot be sent delays the timeouts of other requests",
    file: "packages/core/src/peer/Outbound.ts",
    from: 'this.deadlines.attempt(() => this.cancel(id, entry, "The request timed out"))',
    to: 'this.cancel(id, entry, "The request timed out")',
    test: "packages/core/test/peer/Peer.outbound.test.ts"
  },
  {
    name: "A reason that is no string is taken for one",
    file: "packages/core/src/peer/Inbound.ts",
    from: 'typeof params?.reason === "string" ? beginning(params.reason) : undefined',
    to: "params?.reason === undefined ? undefined : beginning(String(params.reason))",
    test: "packages/core/test/peer/CancelReason.test.ts"
  },
  {
    name: "The reason of a cancel is escaped as it arrives",
    file: "packages/core/src/peer/Inbound.ts",
    from: "beginning(params.reason)",
    to: "excerpt(params.reason)",
    test: "packages/core/test/peer/CancelReason.test.ts"
  },
  {
    name: "A member of a batch has an answer of its own",
    file: "packages/core/src/peer/Router.ts",
    from: "this.receiveMessage(single.message, single.envelope, sink)",
    to: "this.receiveMessage(single.message, single.envelope, single.replyTo ?? sink)",
    test: "packages/core/test/transport/Incoming.test.ts"
  },
  {
    name: "A role is not told of a cancel",
    file: "packages/core/src/peer/Inbound.ts",
    from: "    this.handlers.cancelled?.(entry.request, reason)\n",
    to: "",
    test: "packages/core/test/peer/CancelReason.test.ts"
  },
  {
    name: "The cancel of a request has no reason of the caller's interruption",
    file: "packages/core/src/peer/Outbound.ts",
    from: 'CancelReason.of(exit.cause) ?? "The caller was interrupted"',
    to: '"The caller was interrupted"',
    test: "packages/core/test/peer/CancelReason.test.ts"
  },
  {
    name: "Progress of a question does not reach the handler",
    file: "packages/core/src/request/RemoteInput.ts",
    from: "onProgress: asking?.onProgress",
    to: "onProgress: undefined",
    test: "packages/core/test/request/ClientInput.test.ts"
  },
  {
    name: "A transport delivers past the stream that a program put in the place of its own",
    file: "packages/core/src/transport/Incoming.ts",
    from: "  delivery?.stream === incoming ? delivery : undefined",
    to: "  delivery",
    test: "packages/core/test/transport/Incoming.test.ts"
  },
  {
    name: "A filter is left out of the delivery",
    file: "packages/core/src/transport/Incoming.ts",
    from: "    if (predicate(item)) receive(item)",
    to: "    receive(item)",
    test: "packages/core/test/transport/Incoming.test.ts"
  },
  {
    name: "The answer to a POST leaves by the transport's sink",
    file: "packages/core/src/peer/Router.ts",
    from: "this.watcher === undefined ? replyTo : this.watched(replyTo)",
    to: "this.watcher === undefined ? sink : this.watched(replyTo)",
    test: "packages/core/test/transport/Incoming.test.ts"
  },
  {
    name: "A small chunk before a large one swaps them",
    file: framing,
    from: "      this.gather()\n      this.parts.push(part)",
    to: "      this.parts.push(part)",
    test: framingTest,
    ids: ["stdio.framing.newline"]
  },
  {
    name: "A line above 4 MiB is put together in the space of smaller ones, though the limit allows it",
    file: framing,
    from: "const large = size > defaultMaxMessageBytes",
    to: "const large = false",
    test: framingTest
  },
  {
    name: "The end of an over-long line that comes in pieces is forgotten",
    file: framing,
    from: "this.tail = assemble([this.tail, end], this.tail.length + end.length).slice(-edgeBytes)",
    to: "this.tail = end.slice(-edgeBytes)",
    test: framingTest
  },
  {
    name: "A byte order mark at the beginning of a line inside a chunk is part of its text",
    file: framing,
    from: 'if (text !== undefined && !text.includes("\\uFEFF"))',
    to: "if (text !== undefined)",
    test: framingTest,
    ids: ["transport.encoding.utf-8"]
  },
  {
    name: "Twice the limit is kept of a line that does not end",
    file: framing,
    from: "if (this.size <= Math.max(this.limit, edgeBytes)) return",
    to: "if (this.size <= 2 * Math.max(this.limit, edgeBytes)) return",
    test: framingTest
  },
  {
    name: "A batch of exactly as many members as are allowed is refused",
    file: framing,
    from: "  if (json.length > maxBatchMembers) return tooMany(text)",
    to: "  if (json.length >= maxBatchMembers) return tooMany(text)",
    test: framingTest
  },
  {
    name: "What is no UTF-8 is read with replacement characters",
    file: framing,
    from: "    try {\n      return this.strict.decode(bytes)\n    } catch {\n      return undefined\n    }",
    to: "    return text",
    test: framingTest,
    ids: ["transport.encoding.utf-8"]
  },
  {
    name: "A line of exactly the limit is too long",
    file: framing,
    from: "if (bytes.length > this.limit)",
    to: "if (bytes.length >= this.limit)",
    test: framingTest
  },
  {
    name: "The depth of a message is not looked at",
    file: framing,
    from: "if (isDeeper(text, maxDepth)) return decodeDeep(text, envelope, maxDepth)",
    to: "",
    test: depthTest
  },
  {
    name: "A cancel whose reason is too deep is refused, and has no effect",
    file: framing,
    from: '"method" in message && message.method === "notifications/cancelled"',
    to: "false",
    test: depthTest
  },
  {
    name: "A quote after an escaped backslash does not end its string",
    file: depth,
    from: "if ((end - before) % 2 === 1) return end",
    to: "if (end - before === 1) return end",
    test: depthTest
  },
  {
    name: "A message as short as it can be for its depth is not looked at",
    file: depth,
    from: "text.length < 2 * limit ||",
    to: "text.length < 4 * limit ||",
    test: depthTest
  },
  {
    name: "Answers that were taken are counted for ever",
    file: "packages/core/src/transport/Outbox.ts",
    from: "else this.control -= entry.text.length",
    to: "",
    test: "packages/core/test/transport/Outbox.test.ts"
  },
  {
    name: "An older progress event that was kept follows a newer one",
    file: "packages/core/src/request/Progress.ts",
    from: "    this.latest = undefined\n    this.send(progress, options)",
    to: "    this.send(progress, options)",
    test: "packages/core/test/request/Progress.test.ts",
    ids: ["progress.value.increases"]
  },
  {
    name: "Ids start anew when nothing waits",
    file: "packages/core/src/peer/Outbound.ts",
    from: "id = this.nextId++",
    to: "id = waiting.size === 0 ? (this.nextId = 1) : this.nextId++",
    test: "packages/core/test/peer/Peer.outbound.test.ts",
    ids: ["json-rpc.request.id-unique"]
  },
  {
    name: "The id of a request is the number of those that wait",
    file: "packages/core/src/peer/Outbound.ts",
    from: "id = this.nextId++",
    to: "id = waiting.size + 1",
    test: "packages/core/test/peer/Peer.outbound.test.ts",
    ids: ["json-rpc.request.id-unique"]
  },
  {
    name: "A value without a JSON form is advertised as a schema that takes everything",
    file: "packages/protocol/src/schema/JsonSchema.ts",
    from: "const place = withoutJson(schema.ast)",
    to: "const place: ReadonlyArray<string> | undefined = undefined as ReadonlyArray<string> | undefined",
    test: "packages/core/test/contract/Tool.test.ts",
    project: "core"
  },
  {
    name: "The error of a schema that cannot be advertised does not name its tool",
    file: "packages/core/src/contract/codecSchema.ts",
    from: "throw new JsonSchema.InvalidToolSchema({ where, reason: cause.reason })",
    to: "throw cause",
    test: "packages/core/test/contract/Tool.test.ts"
  },
  {
    name: "A tool is served whose schema cannot be advertised",
    file: "packages/core/src/contract/ToolDescriptor.ts",
    from: 'codecSchema(side("failure"), tool.failure)',
    to: "void tool.failure",
    test: "packages/core/test/contract/Tool.test.ts"
  },
  {
    name: "A tool by a raw schema is served with a broken rule of x-mcp-header",
    file: "packages/core/src/contract/ToolDescriptor.ts",
    from: "if (tool.input.jsonSchema !== undefined) checked(name, tool.input.jsonSchema)",
    to: "",
    test: "packages/core/test/contract/Tool.test.ts"
  },
  {
    name: "An extension is served whose schema cannot be advertised",
    file: "packages/core/src/features/Extensions.ts",
    from: "    checkSchemas(extension)\n",
    to: "",
    test: "packages/core/test/contract/Extension.test.ts"
  },
  {
    name: "The bounds of safe integers are advertised",
    file: "packages/protocol/src/schema/JsonSchema.ts",
    from: 'node["type"] === "integer" ? withoutSafeBounds(node) : node',
    to: "node",
    test: "packages/core/test/contract/Tool.test.ts",
    project: "core"
  },
  {
    name: "A schema of another library is taken for fields without names",
    file: "packages/core/src/contract/ValueCodec.ts",
    from: "  if (wrong === undefined) return Schema.Struct(fields)",
    to: "  if (isJsonObject(fields)) return Schema.Struct(fields)\n  if (wrong === undefined) return Schema.Struct(fields)",
    test: "packages/core/test/contract/Tool.test.ts"
  },
  {
    name: "a text that is no base64 is taken for it",
    file: "packages/protocol/src/model/Validate.ts",
    from: "stray === value.length - padding)",
    to: "stray >= 0)",
    test: "packages/core/test/contract/Content.test.ts"
  },
  {
    name: "a day that the month does not have is a date",
    file: "packages/protocol/src/model/Validate.ts",
    from: " && new Date(midnight).toISOString().startsWith(day)",
    to: "",
    test: "packages/core/test/contract/Content.test.ts"
  },
  {
    name: "a tool has an icon that a client must reject",
    file: "packages/core/src/contract/Tool.ts",
    from: "Validate.icons(`Tool ${name}`, icons)",
    to: "icons",
    test: "packages/core/test/contract/Content.test.ts"
  },
  {
    name: "baggage travels on as something else",
    file: "packages/core/src/peer/parentOf.ts",
    from: "? { baggage } : undefined",
    to: "? { baggage: baggage.toUpperCase() } : undefined",
    test: "packages/testing/test/TraceContext.test.ts",
    project: "testing",
    ids: ["meta.trace.format"]
  },
  {
    name: "a traceparent of zeros is read",
    file: "packages/core/src/peer/parentOf.ts",
    from: "/^0+$/.test(traceId) || ",
    to: "",
    test: "packages/testing/test/TraceContext.test.ts",
    project: "testing",
    ids: ["meta.trace.format"]
  },
  {
    name: "the log does not say that it was a tool's output that did not fit",
    file: "packages/core/src/features/Tools.ts",
    from: "`The output of the tool ${tool.name} does not fit its output schema: ${message}`",
    to: "message",
    test: "packages/server/test/dispatch/defects.test.ts",
    project: "server"
  },
  {
    name: "an extension takes a subscription that MCP has",
    file: "packages/core/src/contract/Extension.ts",
    from: "(key) => Object.hasOwn(SubscriptionFilter.fields, key)",
    to: "() => false",
    test: "packages/core/test/contract/Extension.test.ts"
  }
]

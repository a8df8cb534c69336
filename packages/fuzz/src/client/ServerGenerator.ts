/** Generates misbehaving servers, with one to three faults in requests that the client is known to send. */
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Arbitrary from "effect/Arbitrary"
import type * as Schema from "effect/Schema"
import { choose, oneOf } from "../generator/Values.ts"
import type { Act, ServerFault, ServerScript } from "./model/ServerScript.ts"

const told = (method: string, params?: Schema.Json): Act => ({
  _tag: "Tell",
  message: { jsonrpc: "2.0", method, ...(params === undefined ? undefined : { params }) }
})
const message = (json: Schema.Json): Act => ({ _tag: "Tell", message: json })
const text = (text: string): Act => ({ _tag: "Text", text })

const tells: ReadonlyArray<Act> = [
  told("notifications/fuzz"),
  told("notifications/fuzz", { a: [1] }),
  told("notifications/progress", { progressToken: "never", progress: 1 }),
  told("notifications/progress", { progressToken: {}, progress: "x" }),
  told("notifications/message", { level: "info", data: "\u001b[31mred" }),
  told("notifications/message", { level: "nonsense", data: null }),
  told("notifications/tools/list_changed"),
  told("notifications/resources/updated", { uri: "fuzz://none" }),
  told("notifications/cancelled", { requestId: "never" }),
  told("notifications/cancelled", {}),
  told("notifications/elicitation/complete", { elicitationId: "never" }),
  message({ jsonrpc: "2.0", id: "never", result: {} }),
  message({ jsonrpc: "2.0", id: 987_654, error: { code: 1, message: "x" } }),
  message({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "x" } }),
  message({ jsonrpc: "2.0", method: "notifications/fuzz", params: { a: "x".repeat(100_000) } })
]

const texts: ReadonlyArray<Act> = [
  text(": a comment\n\n"),
  text("event: fuzz\ndata: nonsense\n\n"),
  text("retry: 10\n\n"),
  text("fuzz: nonsense\n\n"),
  text('data: {"jsonrpc":"2.0",\r\ndata: "method":"notifications/fuzz"}\r\n\r\n'),
  text("\n\n\n"),
  text(`: ${"x".repeat(100_000)}\n\n`)
]

/** Text that servers write to stdout between messages. */
const written: ReadonlyArray<Act> = [
  text("\n"),
  text("\r\n"),
  text("Listening on stdio\n"),
  text("\u001b[32mready\u001b[0m\n"),
  text("{\n"),
  text("[]\n"),
  text("7\n"),
  text('{"jsonrpc":"2.0","method":"notifications/fuzz"}\r\n'),
  text(`${"x".repeat(100_000)}\n`)
]

const exit: Act = { _tag: "Cut", resumable: false }

const logs: ReadonlyArray<Act> = [
  { _tag: "Log", text: "Error: fuzz\n" },
  { _tag: "Log", text: "x".repeat(200_000) }
]

const lingering: ReadonlyArray<ServerFault> = [false, true].map((signals) => ({
  on: "shutdown",
  act: { _tag: "Linger", signals }
}))

/** True if the fault exists only over HTTP. */
const isOfHttp = ({ _tag }: Act): boolean => _tag === "Status" || _tag === "Expire"

const form: Schema.Json = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
const messages: Schema.Json = [{ role: "user", content: { type: "text", text: "fuzz" } }]
const tool: Schema.Json = { name: "t", inputSchema: { type: "object" } }

const asks: ReadonlyArray<Act> = [
  { _tag: "Ask", method: "ping" },
  { _tag: "Ask", method: "ping", id: 0 },
  { _tag: "Ask", method: "ping", id: "0" },
  { _tag: "Ask", method: "ping", id: "" },
  { _tag: "Ask", method: "fuzz/unknown" },
  { _tag: "Ask", method: "roots/list" },
  { _tag: "Ask", method: "elicitation/create", params: { message: "Who?", requestedSchema: form } },
  {
    _tag: "Ask",
    method: "elicitation/create",
    params: { mode: "url", message: "Go", url: "https://example.com/fuzz", elicitationId: "e" }
  },
  { _tag: "Ask", method: "sampling/createMessage", params: { messages, maxTokens: 1 } },
  { _tag: "Ask", method: "sampling/createMessage", params: { messages, maxTokens: 1, tools: [tool] } },
  { _tag: "Ask", method: "sampling/createMessage" }
]

const results: ReadonlyArray<Act> = [
  { _tag: "Result", result: null },
  { _tag: "Result", result: {} },
  { _tag: "Result", result: [] },
  { _tag: "Result", result: "wrong" },
  { _tag: "Result", result: { tools: "wrong", content: {}, contents: 1, messages: null } },
  { _tag: "Result", result: { content: [{ type: "fuzz" }] } },
  { _tag: "Result", result: { tools: [{ name: "__proto__", inputSchema: { type: "object" } }] } },
  { _tag: "Result", result: { tools: [{ name: "", inputSchema: { $ref: "#" } }, null, 7] } },
  { _tag: "Merge", members: { fuzzUnknown: { a: 1 } } },
  { _tag: "Merge", members: { _meta: { "com.example/fuzz": 1 } } },
  { _tag: "Error", error: { code: -32603, message: "fuzz" } },
  { _tag: "Error", error: { code: "x", message: 7 } },
  { _tag: "Error", error: null },
  { _tag: "Huge", characters: 200_000 },
  { _tag: "Huge", characters: 5_000_000 },
  { _tag: "Id", id: "wrong" },
  { _tag: "Id", id: null },
  { _tag: "Twice" },
  { _tag: "Pieces", count: 2 },
  { _tag: "Pieces", count: 7 },
  { _tag: "Never" },
  { _tag: "Late", milliseconds: 60 },
  { _tag: "Status", status: 500, type: "text/plain", body: "fuzz" },
  { _tag: "Status", status: 404, type: "text/html", body: "<h1>no</h1>" },
  { _tag: "Status", status: 200, type: "text/html", body: "<h1>hello</h1>" },
  { _tag: "Status", status: 200, type: "application/json", body: "{" },
  { _tag: "Status", status: 200, type: "application/json", body: "" },
  { _tag: "Status", status: 202, type: "application/json", body: "" },
  { _tag: "Status", status: 429, type: "text/plain", body: "" },
  exit
]

/** Faults that only some revisions have. */
const dated = (revision: Version, overHttp: boolean): ReadonlyArray<readonly [on: string | undefined, Act]> =>
  revision >= "2026"
    ? [
        [
          "tools/call",
          {
            _tag: "Result",
            result: {
              resultType: "input_required",
              requestState: "fuzz é 1",
              inputRequests: { a: { method: "elicitation/create", params: { message: "Who?", requestedSchema: form } } }
            }
          }
        ],
        ["tools/call", { _tag: "Result", result: { resultType: "input_required", requestState: "only" } }],
        [
          "tools/call",
          {
            _tag: "Result",
            result: {
              resultType: "input_required",
              inputRequests: { a: { method: "elicitation/create", params: { message: "Who?", requestedSchema: form } } }
            }
          }
        ],
        [
          "tools/call",
          {
            _tag: "Result",
            result: {
              resultType: "input_required",
              inputRequests: {
                a: { method: "elicitation/create", params: { message: "Who?", requestedSchema: form } },
                b: { method: "roots/list" }
              }
            }
          }
        ],
        [undefined, { _tag: "Result", result: { resultType: "fuzz" } }],
        [undefined, { _tag: "Error", error: { code: -32_022, message: "x", data: { supported: ["1999-01-01"] } } }]
      ]
    : [
        ...(overHttp
          ? ([
              [undefined, { _tag: "Expire" }],
              [undefined, { _tag: "Cut", resumable: true, retry: 150 }]
            ] as const)
          : []),
        ["initialize", { _tag: "Merge", members: { protocolVersion: "1999-01-01" } }],
        ["initialize", { _tag: "Merge", members: { protocolVersion: "9999-12-31" } }],
        ["initialize", { _tag: "Merge", members: { protocolVersion: 7 } }],
        ["initialize", { _tag: "Late", milliseconds: 60 }]
      ]

const wrongTools: ReadonlyArray<ReadonlyArray<Schema.Json>> = [
  [],
  [],
  [
    {
      name: "wrong_header",
      inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": "bad header" } } }
    }
  ],
  [
    {
      name: "far_reference",
      inputSchema: { type: "object", properties: { a: { $ref: "http://127.0.0.1/fuzz-schema.json" } } }
    }
  ]
]

/** Generates servers for a client that sends these requests. */
export const servers = (
  revision: Version,
  methods: ReadonlySet<string>,
  transport: "http" | "stdio"
): Arbitrary.Arbitrary<ServerScript> => {
  const overHttp = transport === "http"
  const known = [...methods].filter((method) => method !== "subscriptions/listen")
  const later = known.filter((method) => method !== "initialize" && method !== "server/discover")
  const at = later.length === 0 ? known : later
  const lists = at.filter((method) => method.endsWith("/list"))
  const nth = oneOf<number | undefined>(undefined, 0, 0, 1)
  const place = choose(oneOf(...at), oneOf(...at), oneOf(...known), oneOf("*"))
  const fault = (on: Arbitrary.Arbitrary<string>, act: Arbitrary.Arbitrary<Act>) =>
    Arbitrary.map(Arbitrary.all([on, nth, act]), ([on, nth, act]): ServerFault => ({
      on,
      ...(nth === undefined || act._tag === "Expire" ? (act._tag === "Expire" ? { nth: 0 } : undefined) : { nth }),
      act
    }))
  const endless: Act = { _tag: "Merge", members: { nextCursor: "again" } }
  const special = dated(revision, overHttp).map(([on, act]) =>
    Arbitrary.map(on === undefined ? oneOf(...at) : oneOf(on), (on): ServerFault => ({
      on,
      ...(act._tag === "Merge" ? undefined : { nth: 0 }),
      act
    }))
  )
  const faults = choose(
    fault(place, oneOf(...tells)),
    fault(place, oneOf(...asks)),
    fault(place, oneOf(...(overHttp ? texts : written))),
    fault(place, oneOf(...results.filter((act) => overHttp || !isOfHttp(act)))),
    ...(overHttp ? [] : [oneOf(...lingering), fault(place, oneOf(...logs, exit))]),
    choose(...special),
    ...(lists.length === 0 ? [] : [Arbitrary.map(oneOf(...lists), (on): ServerFault => ({ on, act: endless }))])
  )
  const pages = oneOf<ReadonlyArray<string>>([], [], ["2"], ["a b+c%20/=", "é"], ["", "x"])
  const shape = Arbitrary.all([
    overHttp ? oneOf(false, true) : oneOf(false),
    overHttp ? oneOf(true, true, false) : oneOf(false),
    pages,
    overHttp ? oneOf(...wrongTools) : oneOf<ReadonlyArray<Schema.Json>>([])
  ])
  const none = Arbitrary.Constant<ReadonlyArray<ServerFault>>([])
  const one = Arbitrary.map(faults, (fault): ReadonlyArray<ServerFault> => [fault])
  const several = choose<ReadonlyArray<ServerFault>>(none, one, one, one, Arbitrary.all([faults, faults]))
  return Arbitrary.map(Arbitrary.all([shape, several]), ([[streams, sessions, pages, tools], faults]) => ({
    revision,
    streams,
    sessions: sessions && revision < "2026",
    pages,
    tools: revision < "2026" ? [] : tools,
    faults
  }))
}

/** Yields simpler servers for shrinking: without a fault or an unusual setting, or with a fault moved to the first request. */
export function* simplerServers(script: ServerScript): Iterable<ServerScript> {
  for (const index of script.faults.keys()) yield { ...script, faults: script.faults.toSpliced(index, 1) }
  if (script.pages.length > 0) yield { ...script, pages: [] }
  if (script.tools.length > 0) yield { ...script, tools: [] }
  if (script.streams) yield { ...script, streams: false }
  for (const [index, { nth: _, ...fault }] of script.faults.entries()) {
    if (_ !== 0) yield { ...script, faults: script.faults.with(index, { ...fault, nth: 0 }) }
  }
}

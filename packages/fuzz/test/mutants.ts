/** Servers with one fault each: the correct server behind a wire that changes its messages. Each row names the expected finding. */
import type * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { Effect } from "effect"
import type { Faulty } from "./finds.ts"

type Json = any

/** Ways for a mutant to change the traffic. */
export interface Tap {
  /** Returns the messages for the client in place of a server's message; `request` is the answered request. */
  readonly out?: (message: Json, request: Json) => ReadonlyArray<Json>
  /** Returns an immediate reply to a client's message, or `undefined` to pass it to the server. */
  readonly instead?: (message: Json) => ReadonlyArray<Json> | undefined
}

export interface Mutant extends Faulty {
  readonly name: string
  /** Creates the tap of a conversation. */
  readonly tap: () => Tap
}

/** Turns a target into a mutant that looks like a program. */
export const tapped = (target: Fuzz.LineTarget, make: () => Tap): Fuzz.LineTarget => ({
  ...target,
  transport: "stdio",
  open: (receive) =>
    Effect.suspend(() => {
      const tap = make()
      const requests = new Map<string, Json>()
      const deliver = (messages: ReadonlyArray<Json>) => {
        for (const message of messages) {
          receive({ _tag: "Line", text: typeof message === "string" ? message : JSON.stringify(message) })
        }
      }
      const opened = target.open((event) => {
        if (event._tag === "Ended" || tap.out === undefined) return receive(event)
        const message: Json = JSON.parse(event.text)
        deliver(
          tap.out(
            message,
            "method" in message || Array.isArray(message) ? undefined : requests.get(JSON.stringify(message.id))
          )
        )
      })
      return Effect.map(opened, (wire) => ({
        send: (line) => {
          let message: Json
          try {
            message = JSON.parse(line)
          } catch {
            return wire.send(line)
          }
          if (message?.id !== undefined && message.method !== undefined)
            requests.set(JSON.stringify(message.id), message)
          const instead = tap.instead?.(message)
          if (instead === undefined) wire.send(line)
          else deliver(instead)
        },
        end: Effect.andThen(
          wire.end,
          Effect.sync(() => receive({ _tag: "Ended", how: "its input ended" }))
        )
      }))
    })
})

/** Changes the responses to a method. */
export const answers = (method: string | undefined, change: (response: Json, request: Json) => Json) => (): Tap => ({
  out: (message, request) => {
    if (request === undefined || (method !== undefined && request.method !== method)) return [message]
    const changed = change(message, request)
    return Array.isArray(changed) ? changed : [changed]
  }
})

/** Changes results only. */
export const results = (method: string, change: (result: Json, request: Json) => Json) =>
  answers(method, (response, request) =>
    response.result === undefined ? response : { ...response, result: change(response.result, request) }
  )

/** Answers a request by itself. */
export const instead =
  (wanted: (message: Json) => boolean, reply: (message: Json) => ReadonlyArray<Json>) => (): Tap => ({
    instead: (message) =>
      message !== null && typeof message === "object" && wanted(message) ? reply(message) : undefined
  })

export const ok = ({ id }: Json, result: Json) => [{ jsonrpc: "2.0", id, result }]
export const error = ({ id }: Json, code: number, message = "no") => [{ jsonrpc: "2.0", id, error: { code, message } }]
export const isRequest = (method: string) => (message: Json) => message?.method === method && message.id !== undefined
const tell = (method: string, params: Json = {}) => ({ jsonrpc: "2.0", method, params })
export const call = (name: string) => (message: Json) =>
  isRequest("tools/call")(message) && message.params?.name === name
const text = (value: string) => ({ content: [{ type: "text", text: value }] })

const messages: ReadonlyArray<Mutant> = [
  { name: "prints a banner", finds: "stdout-only-messages", tap: answers("initialize", (m) => ["Server is ready", m]) },
  { name: "prints half a message", finds: "stdout-only-messages", tap: answers("ping", (m) => [m, '{"jsonrpc":']) },
  {
    name: "omits jsonrpc from messages",
    finds: "message-valid",
    tap: answers("ping", ({ id, result }) => ({ id, result }))
  },
  { name: "sends jsonrpc 1.0", finds: "message-valid", tap: answers("tools/list", (m) => ({ ...m, jsonrpc: "1.0" })) },
  {
    name: "answers with result and error",
    finds: "message-valid",
    tap: answers("ping", (m) => ({ ...m, error: { code: 1, message: "x" } }))
  },
  {
    name: "sends a null error alongside results",
    finds: "message-valid",
    tap: answers("tools/list", (m) => ({ error: null, ...m }))
  },
  {
    name: "sends an error code as a string",
    finds: "message-valid",
    tap: answers(undefined, (m) => (m.error ? { ...m, error: { ...m.error, code: "x" } } : m))
  },
  {
    name: "sends errors without a message",
    finds: "message-valid",
    tap: answers(undefined, (m) => (m.error ? { ...m, error: { code: m.error.code } } : m))
  },
  { name: "sends arrays", finds: "message-valid", tap: answers("tools/list", (m) => JSON.stringify([m])) },
  {
    name: "turns ids into numbers",
    finds: "answer-same-id",
    tap: answers("ping", (m) => (m.id === "0" ? { ...m, id: 0 } : m))
  },
  {
    name: "turns ids into strings",
    finds: "answer-same-id",
    tap: answers("ping", (m) => ({ ...m, id: String(m.id) }))
  },
  {
    name: "drops falsy ids",
    finds: "message-valid",
    tap: answers("ping", (m) => (m.id === 0 ? { ...m, id: null } : m))
  },
  { name: "answers twice", finds: "answer-once", tap: answers("tools/list", (m) => [m, m]) },
  {
    name: "never answers an unknown method",
    finds: "answer-always fuzz/unknown",
    tap: instead(isRequest("fuzz/unknown"), () => [])
  },
  {
    name: "never answers a ping with params",
    finds: "answer-always ping",
    tap: instead(
      (m) => isRequest("ping")(m) && m.params !== undefined,
      () => []
    )
  },
  {
    name: "never answers a bad cursor",
    finds: "answer-always",
    tap: instead(
      (m) => m.params?.cursor === "%%%",
      () => []
    )
  },
  {
    name: "never answers an unknown tool",
    finds: "answer-always tools/call",
    tap: instead(
      (m) => isRequest("tools/call")(m) && m.params?.name === "toString",
      () => []
    )
  },
  {
    name: "answers notifications",
    finds: "notification-silent",
    tap: () => ({
      instead: (m) =>
        m?.method === "notifications/fuzz" ? [{ jsonrpc: "2.0", error: { code: -32601, message: "x" } }] : undefined
    })
  },
  {
    name: "accepts a null id",
    finds: "null-id-refused",
    tap: instead(
      (m) => m.method === "ping" && m.id === null,
      (m) => ok(m, {})
    )
  },
  { name: "accepts any method", finds: "method-unknown", tap: instead(isRequest("fuzz/unknown"), (m) => ok(m, {})) },
  {
    name: "resolves methods on its prototype",
    finds: "method-unknown",
    tap: instead(isRequest("constructor"), (m) => ok(m, {}))
  },
  {
    name: "dumps validation errors into messages",
    finds: "error-message-short",
    tap: answers(undefined, (m) =>
      m.error ? { ...m, error: { ...m.error, message: `wrong\n${"x".repeat(300)}` } } : m
    )
  },
  {
    name: "fails internally on missing params",
    finds: "error-blames-client",
    tap: answers(undefined, (m) => (m.error?.code === -32602 ? { ...m, error: { ...m.error, code: -32603 } } : m))
  },
  {
    name: "drops requests with array params",
    finds: "malformed-answered",
    tap: instead(
      (m) => m.id !== undefined && Array.isArray(m.params),
      () => []
    )
  },
  {
    name: "drops requests with string params",
    finds: "malformed-answered",
    tap: instead(
      (m) => m.id !== undefined && typeof m.params === "string",
      () => []
    )
  },
  { name: "stops answering after junk", finds: "survives", tap: deaf((m) => m?.jsonrpc !== "2.0") },
  {
    name: "stops answering after an unknown notification",
    finds: "survives",
    tap: deaf((m) => m?.method === "notifications/fuzz")
  },
  {
    name: "stops answering after a malformed cancellation",
    finds: "survives",
    tap: deaf((m) => m?.method === "notifications/cancelled" && m.params?.requestId === undefined)
  },
  {
    name: "reuses its own ids",
    finds: "request-id-unique",
    tap: answers("ping", (m) => [{ jsonrpc: "2.0", id: 1, method: "ping" }, m])
  }
]

/** Ignores everything after `trigger`. */
function deaf(trigger: (message: Json) => boolean): () => Tap {
  return () => {
    let isDeaf = false
    return {
      instead: (message) => {
        isDeaf ||= trigger(message)
        return isDeaf ? [] : undefined
      }
    }
  }
}

const lifecycle: ReadonlyArray<Mutant> = [
  {
    name: "omits serverInfo",
    finds: "initialize-response",
    tap: results("initialize", (r) => ({ ...r, serverInfo: undefined }))
  },
  {
    name: "sends no capabilities",
    finds: "initialize-response",
    tap: results("initialize", (r) => ({ ...r, capabilities: undefined }))
  },
  {
    name: "sends its version as a number",
    finds: "initialize-response",
    tap: results("initialize", (r) => ({ ...r, serverInfo: { ...r.serverInfo, version: 1 } }))
  },
  {
    name: "picks an older version now and then",
    finds: "version-echoed",
    tap: results("initialize", (r, { params }) =>
      Object.keys(params.capabilities).length > 0 ? { ...r, protocolVersion: "2025-03-26" } : r
    )
  },
  {
    name: "accepts any version",
    finds: "version-other",
    tap: results("initialize", (r, { params }) => ({ ...r, protocolVersion: params.protocolVersion }))
  },
  {
    name: "asks for roots before initialized",
    finds: "nothing-before-initialized",
    tap: answers("initialize", (m) => [{ jsonrpc: "2.0", id: 99, method: "roots/list" }, m])
  },
  {
    name: "asks for undeclared roots",
    finds: "client-capabilities-respected roots/list",
    tap: answers("tools/list", (m) =>
      [{ jsonrpc: "2.0", id: Math.random(), method: "roots/list" }, m].map((x) =>
        "method" in x ? { ...x, id: `q${String(m.id)}` } : x
      )
    )
  },
  {
    name: "asks the user of a client without users",
    finds: "client-capabilities-respected elicitation/create",
    tap: answers("prompts/list", (m) => [
      {
        jsonrpc: "2.0",
        id: `q${String(m.id)}`,
        method: "elicitation/create",
        params: { message: "?", requestedSchema: { type: "object", properties: {} } }
      },
      m
    ])
  },
  {
    name: "announces undeclared changes",
    finds: "server-capabilities-respected",
    tap: () => ({
      out: (m, request) =>
        request?.method === "initialize" && m.result
          ? [{ ...m, result: { ...m.result, capabilities: { ...m.result.capabilities, tools: {} } } }]
          : request?.method === "tools/list"
            ? [tell("notifications/tools/list_changed"), m]
            : [m]
    })
  },
  {
    name: "logs without the capability",
    finds: "server-capabilities-respected notifications/message",
    tap: () => ({
      out: (m, request) =>
        request?.method === "initialize" && m.result
          ? [{ ...m, result: { ...m.result, capabilities: { ...m.result.capabilities, logging: undefined } } }]
          : request?.method === "tools/call"
            ? [tell("notifications/message", { level: "info", data: "x" }), m]
            : [m]
    })
  },
  { name: "answers a ping with a text", finds: "ping-empty", tap: results("ping", () => ({ pong: true })) },
  {
    name: "answers a ping with an error",
    finds: "ping-empty",
    tap: instead(
      (m) => isRequest("ping")(m),
      (m) => error(m, -32601)
    )
  },
  {
    name: "ignores the level",
    finds: "log-threshold",
    tap: answers("logging/setLevel", (m, { params }) =>
      m.result && params.level === "emergency" ? [m, tell("notifications/message", { level: "debug", data: "x" })] : [m]
    )
  },
  {
    name: "accepts any level",
    finds: "set-level-invalid string",
    tap: instead(
      (m) => isRequest("logging/setLevel")(m) && m.params?.level === "nonsense",
      (m) => ok(m, {})
    )
  },
  {
    name: "accepts a number as level",
    finds: "set-level-invalid number",
    tap: instead(
      (m) => isRequest("logging/setLevel")(m) && m.params?.level === 7,
      (m) => ok(m, {})
    )
  },
  {
    name: "sends updates without a subscription",
    finds: "update-only-subscribed",
    tap: answers("resources/read", (m) => [tell("notifications/resources/updated", { uri: "menu://today" }), m])
  },
  {
    name: "completes with 101 values",
    finds: "completion-at-most-100",
    tap: instead(
      (m) => isRequest("completion/complete")(m) && m.params?.argument !== undefined,
      (m) => ok(m, { completion: { values: Array.from({ length: 101 }, String) } })
    )
  }
]

const progress: ReadonlyArray<Mutant> = [
  {
    name: "reports the same progress twice",
    finds: "progress-increases",
    tap: () => ({ out: (m) => (m.method === "notifications/progress" ? [m, m] : [m]) })
  },
  {
    name: "reports progress backwards",
    finds: "progress-increases",
    tap: () => ({
      out: (m) =>
        m.method === "notifications/progress"
          ? [{ ...m, params: { ...m.params, progress: 9 - m.params.progress } }]
          : [m]
    })
  },
  {
    name: "turns the token into a string",
    finds: "progress-known-token",
    tap: () => ({
      out: (m) =>
        m.method === "notifications/progress" && typeof m.params.progressToken === "number"
          ? [{ ...m, params: { ...m.params, progressToken: `t${String(m.params.progressToken)}` } }]
          : [m]
    })
  },
  {
    name: "reports unrequested progress",
    finds: "progress-known-token",
    tap: answers("tools/call", (m) => [tell("notifications/progress", { progressToken: "mine", progress: 1 }), m])
  },
  {
    name: "reports progress after the result",
    finds: "progress-stops",
    tap: answers("tools/call", (m, { params }) =>
      params?._meta?.progressToken === undefined
        ? m
        : [m, tell("notifications/progress", { progressToken: params._meta.progressToken, progress: 100 })]
    )
  }
]

const features: ReadonlyArray<Mutant> = [
  {
    name: "serves undeclared tools",
    finds: "tools-declared",
    tap: results("initialize", (r) => ({ ...r, capabilities: { ...r.capabilities, tools: undefined } }))
  },
  {
    name: "serves undeclared prompts",
    finds: "prompts-declared",
    tap: results("initialize", (r) => ({ ...r, capabilities: { ...r.capabilities, prompts: undefined } }))
  },
  {
    name: "serves undeclared resources",
    finds: "resources-declared",
    tap: results("initialize", (r) => ({ ...r, capabilities: { ...r.capabilities, resources: undefined } }))
  },
  {
    name: "answers a list with null",
    finds: "result-object tools/list",
    tap: answers("tools/list", (response, { params }) =>
      params === undefined ? { ...response, result: null } : response
    )
  },
  {
    name: "declares prompts but does not list them",
    finds: "declared-there prompts",
    tap: answers("prompts/list", ({ id }) => ({ jsonrpc: "2.0", id, error: { code: -32601, message: "No method" } }))
  },
  {
    name: "lists tools without a schema",
    finds: "result-fits-method tools/list",
    tap: results("tools/list", (r) => ({
      ...r,
      tools: r.tools.map((tool: Json) => ({ ...tool, inputSchema: undefined }))
    }))
  },
  {
    name: "lists tools under another name",
    finds: "result-fits-method tools/list",
    tap: results("tools/list", ({ tools, ...rest }) => ({ ...rest, items: tools }))
  },
  {
    name: "sends a cursor as a number",
    finds: "result-fits-method",
    tap: results("resources/list", (r) => ({ ...r, nextCursor: 7 }))
  },
  {
    name: "sends a null cursor",
    finds: "result-fits-method",
    tap: results("prompts/list", (r) => ({ ...r, nextCursor: null }))
  },
  {
    name: "sends content as a string",
    finds: "result-fits-method tools/call",
    tap: results("tools/call", (r) => ({ ...r, content: "text" }))
  },
  {
    name: "sends content without a type",
    finds: "result-fits-method tools/call",
    tap: results("tools/call", (r) => ({ ...r, content: [{ text: "x" }] }))
  },
  {
    name: "sends resources without a URI",
    finds: "result-fits-method resources/read",
    tap: results("resources/read", (r) => ({
      ...r,
      contents: r.contents.map((content: Json) => ({ ...content, uri: undefined }))
    }))
  },
  {
    name: "sends prompts with an invalid role",
    finds: "result-fits-method prompts/get",
    tap: results("prompts/get", (r) => ({ ...r, messages: r.messages.map((m: Json) => ({ ...m, role: "system" })) }))
  },
  {
    name: "answers a completion with null",
    finds: "result-object completion/complete",
    tap: instead(
      (m) => isRequest("completion/complete")(m),
      (m) => ok(m, null)
    )
  },
  {
    name: "does not validate arguments",
    finds: "tool-input-validated add",
    tap: instead(call("add"), (m) => ok(m, { ...text("0"), structuredContent: { sum: 0 } }))
  },
  {
    name: "accepts calls without required arguments",
    finds: "tool-input-validated count",
    tap: instead(
      (m) => call("count")(m) && m.params.arguments?.note === undefined,
      (m) => ok(m, text("done"))
    )
  },
  {
    name: "sends structured content of the wrong type",
    finds: "tool-structured-conforms add",
    tap: results("tools/call", (r) => (r.structuredContent ? { ...r, structuredContent: { sum: "3" } } : r))
  },
  {
    name: "sends no structured content",
    finds: "tool-structured-conforms add",
    tap: results("tools/call", (r) => ({ ...r, structuredContent: undefined }))
  },
  {
    name: "answers an unknown tool with a result",
    finds: "tool-unknown",
    tap: instead(
      (m) => isRequest("tools/call")(m) && m.params?.name === "fuzz-no-such-name",
      (m) => ok(m, { ...text("no"), isError: true })
    )
  },
  {
    name: "resolves tools on its prototype",
    finds: "tool-unknown",
    tap: instead(call("constructor"), (m) => ok(m, text("x")))
  },
  {
    name: "has tool names with spaces",
    finds: "tool-name-characters",
    tap: results("tools/list", (r) => ({
      ...r,
      tools: r.tools.map((tool: Json) => ({ ...tool, name: `${String(tool.name)} tool` }))
    }))
  },
  {
    name: "has overlong tool names",
    finds: "tool-name-length",
    tap: results("tools/list", (r) => ({
      ...r,
      tools: r.tools.map((tool: Json) => ({ ...tool, name: `${String(tool.name)}${"x".repeat(130)}` }))
    }))
  },
  {
    name: "lists a tool twice",
    finds: "tool-name-unique",
    tap: results("tools/list", (r) => ({ ...r, tools: [...r.tools, ...r.tools] }))
  },
  {
    name: "answers an unknown prompt with -32603",
    finds: "prompt-unknown",
    tap: answers("prompts/get", (m, { params }) => (params?.name === "fuzz-no-such-name" ? error(m, -32603)[0] : m))
  },
  {
    name: "accepts prompts without required arguments",
    finds: "prompt-missing-argument",
    tap: instead(
      (m) => isRequest("prompts/get")(m) && m.params?.name === "review" && m.params.arguments?.file === undefined,
      (m) => ok(m, { messages: [] })
    )
  },
  {
    name: "reads missing resources as empty",
    finds: "resource-unknown",
    tap: instead(
      (m) => isRequest("resources/read")(m) && String(m.params?.uri).startsWith("fuzz-none"),
      (m) => ok(m, { contents: [] })
    )
  },
  {
    name: "answers an unknown resource with -32603",
    finds: "resource-unknown",
    tap: answers("resources/read", (m) =>
      m.error?.code === -32002 ? { ...m, error: { ...m.error, code: -32603 } } : m
    )
  },
  {
    name: "completes unknown prompts",
    finds: "completion-unknown-prompt",
    tap: instead(
      (m) => isRequest("completion/complete")(m) && m.params?.ref?.name === "fuzz-no-such-name",
      (m) => ok(m, { completion: { values: [] } })
    )
  },
  {
    name: "ignores invalid cursors",
    finds: "cursor-invalid tools/list",
    tap: instead(
      (m) => isRequest("tools/list")(m) && typeof m.params?.cursor === "string" && m.params.cursor.length < 15,
      (m) => ok(m, { tools: [] })
    )
  },
  {
    name: "fails internally on invalid cursors",
    finds: "cursor-invalid",
    tap: answers("resources/list", (m) => (m.error ? { ...m, error: { ...m.error, code: -32603 } } : m))
  }
]

/** Changes every result of 2026-07-28, depending on its kind. */
const every = (change: (result: Json, request: Json) => Json) =>
  answers(undefined, (m, request) => (m.result === undefined ? m : { ...m, result: change(m.result, request) }))

const asking = (change: (result: Json) => Json) => every((r) => (r.resultType === "input_required" ? change(r) : r))

const revision = "2026-07-28" as const
const stateless: ReadonlyArray<Mutant> = [
  {
    name: "omits the result type",
    finds: "result-type",
    tap: every((r) => ({ ...r, resultType: undefined }))
  },
  {
    name: "omits one result's type",
    finds: "result-type tools/call",
    tap: results("tools/call", (r) => ({ ...r, resultType: undefined }))
  },
  { name: "omits the server's name", finds: "result-names-server", tap: every((r) => ({ ...r, _meta: undefined })) },
  {
    name: "invents error codes",
    finds: "error-reserved",
    tap: answers(undefined, (m) => (m.error?.code === -32602 ? { ...m, error: { ...m.error, code: -32050 } } : m))
  },
  {
    name: "uses the old resource error code",
    finds: "error-former",
    tap: answers("resources/read", (m) => (m.error ? { ...m, error: { ...m.error, code: -32002 } } : m))
  },
  {
    name: "sends requests",
    finds: "server-never-asks ping",
    tap: answers("tools/list", (m) => [{ jsonrpc: "2.0", id: `q${String(m.id)}`, method: "ping" }, m])
  },
  {
    name: "accepts any version in requests",
    finds: "version-unsupported",
    tap: instead(
      (m) => m.params?._meta?.["io.modelcontextprotocol/protocolVersion"] === "1999-01-01",
      (m) => ok(m, { resultType: "complete" })
    )
  },
  {
    name: "rejects versions without naming its own",
    finds: "version-unsupported",
    tap: answers(undefined, (m) => (m.error?.code === -32022 ? { ...m, error: { ...m.error, data: {} } } : m))
  },
  {
    name: "does not require client capabilities",
    finds: "meta-incomplete",
    tap: instead(
      (m) =>
        isRequest("server/discover")(m) &&
        m.params?._meta?.["io.modelcontextprotocol/clientCapabilities"] === undefined,
      (m) => ok(m, { resultType: "complete" })
    )
  },
  {
    name: "discovers no versions",
    finds: "discovery-lists",
    tap: results("server/discover", (r) => ({ ...r, supportedVersions: undefined }))
  },
  {
    name: "logs unasked",
    finds: "log-silent",
    tap: answers("tools/call", (m) => [tell("notifications/message", { level: "info", data: "x" }), m])
  },
  {
    name: "sends no caching hints",
    finds: "caching-hints resources/list",
    tap: results("resources/list", (r) => ({ ...r, ttlMs: undefined, cacheScope: undefined }))
  },
  {
    name: "sends no cache scope",
    finds: "caching-hints resources/read",
    tap: results("resources/read", (r) => ({ ...r, cacheScope: undefined }))
  },
  {
    name: "sends an expired time to live",
    finds: "caching-ttl tools/list",
    tap: results("tools/list", (r) => ({ ...r, ttlMs: -1 }))
  },
  {
    name: "sends caching hints with questions",
    finds: "caching-not-interim",
    tap: asking((r) => ({ ...r, ttlMs: 5, cacheScope: "private" }))
  },
  {
    name: "asks during a list",
    finds: "input-supported-method prompts/list",
    tap: results("prompts/list", () => ({ resultType: "input_required", requestState: "x" }))
  },
  { name: "asks for nothing", finds: "input-not-empty", tap: asking(({ resultType }) => ({ resultType })) },
  {
    name: "asks an unknown kind of question",
    finds: "input-kinds",
    tap: asking((r) => ({ ...r, inputRequests: { a: { method: "user/ask", params: {} } } }))
  },
  {
    name: "asks for an undeclared capability",
    finds: "input-declared",
    tap: instead(
      (m) => call("greet")(m) && m.params.inputResponses === undefined,
      (m) => ok(m, { resultType: "input_required", inputRequests: { a: { method: "roots/list" } } })
    )
  },
  {
    name: "reads missing resources as nothing",
    finds: "resource-unknown-stateless",
    tap: instead(
      (m) => isRequest("resources/read")(m) && String(m.params?.uri).startsWith("fuzz-none"),
      (m) => ok(m, { resultType: "complete", contents: [] })
    )
  }
].map((mutant) => ({ ...mutant, revision }))

const acknowledged = "notifications/subscriptions/acknowledged"
const subscriptionId = "io.modelcontextprotocol/subscriptionId"

/** Changes acknowledgements. */
const acknowledges = (change: (message: Json) => ReadonlyArray<Json>) => (): Tap => ({
  out: (m) => (m.method === acknowledged ? change(m) : [m])
})

const subscriptions: ReadonlyArray<Mutant> = [
  { name: "never acknowledges", finds: "listen-acknowledged", tap: acknowledges(() => []) },
  {
    name: "ends subscriptions at once",
    finds: "listen-acknowledged",
    tap: instead(isRequest("subscriptions/listen"), (m) =>
      ok(m, { resultType: "complete", _meta: { [subscriptionId]: m.id } })
    )
  },
  {
    name: "notifies before it acknowledges",
    finds: "listen-nothing-before",
    tap: acknowledges((m) => [tell("notifications/tools/list_changed", { _meta: m.params._meta }), m])
  },
  {
    name: "sends unrequested notifications",
    finds: "listen-only-requested notifications/resources/list_changed",
    tap: acknowledges((m) => [m, tell("notifications/resources/list_changed", { _meta: m.params._meta })])
  },
  {
    name: "notifies everybody of changes",
    finds: "listen-only-requested notifications/tools/list_changed",
    tap: answers("tools/list", (m) => [tell("notifications/tools/list_changed"), m])
  },
  {
    name: "acknowledges more than was requested",
    finds: "listen-honest",
    tap: acknowledges((m) => [
      { ...m, params: { ...m.params, notifications: { ...m.params.notifications, resourcesListChanged: true } } }
    ])
  },
  {
    name: "ends another subscription",
    finds: "listen-end-named",
    tap: acknowledges((m) => [
      m,
      {
        jsonrpc: "2.0",
        id: m.params._meta[subscriptionId],
        result: { resultType: "complete", _meta: { [subscriptionId]: "other" } }
      }
    ])
  }
].map((mutant) => ({ ...mutant, revision }))

const isBatch = (m: Json) => Array.isArray(m)

const batches: ReadonlyArray<Mutant> = [
  { name: "drops batches", finds: "batch-answered", tap: instead(isBatch, () => []) },
  {
    name: "refuses batches",
    finds: "batch-answered",
    tap: instead(isBatch, () => [{ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } }])
  },
  {
    name: "answers the first member only",
    finds: "batch-answered",
    tap: (): Tap => ({ out: (m: Json) => (isBatch(m) ? [m.slice(0, 1)] : [m]) })
  },
  {
    name: "answers the notifications of a batch",
    finds: "message-valid",
    tap: instead(
      (m) => isBatch(m) && m.every((each: Json) => each?.id === undefined),
      () => ["[]"]
    )
  }
].map((mutant) => ({ ...mutant, revision: "2025-03-26" as const }))

export const mutants: ReadonlyArray<Mutant> = [
  ...messages,
  ...lifecycle,
  ...progress,
  ...features,
  ...stateless,
  ...subscriptions,
  ...batches
]

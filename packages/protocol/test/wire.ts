/**
 * The wire of each revision, written a second time and strictly, directly from its published schema.
 *
 * It shares nothing with the model: it checks the codecs and the methods of each revision, and wire values are generated from it. Tasks of
 * 2025-11-25 are omitted, because they are an extension here.
 */
import * as Schema from "effect/Schema"
import type { Version } from "@effect-mcp/protocol/Revision"

const S = Schema.Struct
const Str = Schema.String
const Num = Schema.Finite
const Bool = Schema.Boolean
const Json = Schema.Json
const opt = Schema.optionalKey
const list = Schema.Array
const lit = Schema.Literal
const one = Schema.Union
const record = <V extends Schema.Codec<unknown, unknown>>(value: V) => Schema.Record(Str, value)
const obj = record(Json)

type Wire = Schema.Codec<unknown>
interface Call {
  readonly params: Wire
  readonly result: Wire
}

export interface WireTables {
  readonly clientRequests: { readonly [method: string]: Call }
  readonly serverRequests: { readonly [method: string]: Call }
  readonly clientNotifications: { readonly [method: string]: Wire }
  readonly serverNotifications: { readonly [method: string]: Wire }
  /** Wrappers around messages since 2026-07-28. */
  readonly around: { readonly declaration: Wire; readonly inputRequired: Wire }
}

export const wire = (version: Version): WireTables => {
  const since = <F extends Schema.Struct.Fields>(first: Version, fields: F): Partial<F> =>
    version >= first ? fields : {}
  const fields = (...parts: ReadonlyArray<Schema.Struct.Fields | Partial<Schema.Struct.Fields>>): Wire =>
    // Every field of the wire is a codec without services, which `Struct.Fields` does not say.
    S(Object.assign({}, ...parts) as Schema.Struct.Fields) as unknown as Wire
  const choose = (...members: ReadonlyArray<Wire | false>): Wire =>
    one(members.filter((member): member is Wire => member !== false))
  const audio = version >= "2025-03-26"
  const june = version >= "2025-06-18"
  const november = version >= "2025-11-25"
  const july = version >= "2026-07-28"
  /** Fields that the newest revision no longer has. */
  const before = <F extends Schema.Struct.Fields>(first: Version, fields: F): Partial<F> =>
    version < first ? fields : {}

  const meta = { _meta: opt(obj) }
  const newMeta = since("2025-06-18", meta)
  const token = one([Str, Schema.Int])
  // Questions of 2026-07-28 have no `_meta` in the schema, which is open; the general field is not used here.
  const questions = { _meta: opt(Schema.StructWithRest(S({ progressToken: opt(token) }), [obj])) }
  const icons = since("2025-11-25", {
    icons: opt(
      list(S({ src: Str, mimeType: opt(Str), sizes: opt(list(Str)), theme: opt(one([lit("light"), lit("dark")])) }))
    )
  })
  const named = [{ name: Str }, since("2025-06-18", { title: opt(Str) })]
  const role = one([lit("user"), lit("assistant")])
  const annotations = {
    annotations: opt(
      fields({ audience: opt(list(role)), priority: opt(Num) }, since("2025-06-18", { lastModified: opt(Str) }))
    )
  }

  const implementation = fields(
    ...named,
    icons,
    { version: Str },
    since("2025-11-25", { description: opt(Str), websiteUrl: opt(Str) })
  )
  const level = one(
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"].map((name) => lit(name))
  )
  const changes = { listChanged: opt(Bool) }
  // Introduced by 2026-07-28. Capabilities are open, so extensions may be declared in every revision.
  const extensions = opt(record(obj))
  const clientCapabilities = fields(
    { experimental: opt(record(obj)), extensions, roots: opt(july ? S({}) : S(changes)) },
    { sampling: opt(november ? S({ context: opt(obj), tools: opt(obj) }) : S({})) },
    since("2025-06-18", { elicitation: opt(november ? S({ form: opt(obj), url: opt(obj) }) : S({})) }),
    november && !july ? { tasks: opt(obj) } : {}
  )
  const serverCapabilities = fields(
    { experimental: opt(record(obj)), extensions, logging: opt(obj), prompts: opt(S(changes)), tools: opt(S(changes)) },
    { resources: opt(S({ subscribe: opt(Bool), ...changes })) },
    since("2025-03-26", { completions: opt(obj) }),
    november && !july ? { tasks: opt(obj) } : {}
  )

  // A request of 2026-07-28 declares the facts that a session used to remember.
  const declaration = Schema.StructWithRest(
    S({
      progressToken: opt(token),
      "io.modelcontextprotocol/protocolVersion": Str,
      "io.modelcontextprotocol/clientInfo": opt(implementation),
      "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
      "io.modelcontextprotocol/logLevel": opt(level)
    }),
    [obj]
  ) as unknown as Wire
  const asks = july ? { _meta: declaration } : questions
  const resultMeta = july
    ? {
        _meta: opt(
          Schema.StructWithRest(S({ "io.modelcontextprotocol/serverInfo": opt(implementation) }), [
            obj
          ]) as unknown as Wire
        )
      }
    : meta
  const answers = [resultMeta, since("2026-07-28", { resultType: lit("complete") })]
  const ttlMs = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
  const cached = since("2026-07-28", { ttlMs, cacheScope: one([lit("public"), lit("private")]) })
  const retry = since("2026-07-28", { inputResponses: opt(record(obj)), requestState: opt(Str) })

  const resourceFields = [...named, icons, { description: opt(Str), mimeType: opt(Str) }, annotations, newMeta]
  const resource = [{ uri: Str, size: opt(Num) }, ...resourceFields]
  const contents = choose(
    fields({ uri: Str, mimeType: opt(Str), text: Str }, newMeta),
    fields({ uri: Str, mimeType: opt(Str), blob: Str }, newMeta)
  )
  const binary = { data: Str, mimeType: Str }
  const text = fields({ type: lit("text"), text: Str }, annotations, newMeta)
  const image = fields({ type: lit("image"), ...binary }, annotations, newMeta)
  const sound = audio && fields({ type: lit("audio"), ...binary }, annotations, newMeta)
  const block = choose(
    text,
    image,
    sound,
    june && fields({ type: lit("resource_link") }, ...resource),
    fields({ type: lit("resource"), resource: contents }, annotations, newMeta)
  )

  const objectSchema = Schema.StructWithRest(S({ type: lit("object") }), [obj])
  const hints = S({
    title: opt(Str),
    readOnlyHint: opt(Bool),
    destructiveHint: opt(Bool),
    idempotentHint: opt(Bool),
    openWorldHint: opt(Bool)
  })
  const taskSupport = opt(one([lit("forbidden"), lit("optional"), lit("required")]))
  const tool = fields(
    ...named,
    icons,
    { description: opt(Str), inputSchema: objectSchema },
    since("2025-03-26", { annotations: opt(hints) }),
    since("2025-06-18", { outputSchema: opt(july ? obj : objectSchema) }),
    november && !july ? { execution: opt(S({ taskSupport })) } : {},
    newMeta
  )
  const structured = since("2025-06-18", { structuredContent: opt(july ? Json : obj) })
  const called = fields(...answers, { content: list(block), isError: opt(Bool) }, structured)

  const prompt = fields(
    ...named,
    icons,
    {
      description: opt(Str),
      arguments: opt(list(fields(...named, { description: opt(Str), required: opt(Bool) })))
    },
    newMeta
  )

  const sampled = choose(
    text,
    image,
    sound,
    november && fields({ type: lit("tool_use"), id: Str, name: Str, input: obj }, meta),
    november &&
      fields({ type: lit("tool_result"), toolUseId: Str, content: list(block), isError: opt(Bool) }, structured, meta)
  )
  const message = [{ role, content: november ? one([sampled, list(sampled)]) : sampled }]
  const preferences = S({
    hints: opt(list(S({ name: opt(Str) }))),
    costPriority: opt(Num),
    speedPriority: opt(Num),
    intelligencePriority: opt(Num)
  })
  const createMessage = fields(
    questions,
    {
      messages: list(fields(...message, since("2025-11-25", meta))),
      modelPreferences: opt(preferences),
      systemPrompt: opt(Str),
      includeContext: opt(one([lit("none"), lit("thisServer"), lit("allServers")])),
      temperature: opt(Num),
      maxTokens: Num,
      stopSequences: opt(list(Str)),
      metadata: opt(obj)
    },
    since("2025-11-25", {
      tools: opt(list(tool)),
      toolChoice: opt(S({ mode: opt(one([lit("auto"), lit("required"), lit("none")])) }))
    })
  )

  const described = { title: opt(Str), description: opt(Str) }
  const fallback = <D extends Schema.Codec<unknown>>(schema: D) => since("2025-11-25", { default: opt(schema) })
  const bounds = { minItems: opt(Num), maxItems: opt(Num) }
  const choices = list(S({ const: Str, title: Str }))
  const format = one([lit("email"), lit("uri"), lit("date"), lit("date-time")])
  const property = choose(
    fields(
      { type: lit("string"), ...described, minLength: opt(Num), maxLength: opt(Num), format: opt(format) },
      fallback(Str)
    ),
    fields(
      { type: one([lit("number"), lit("integer")]), ...described, minimum: opt(Num), maximum: opt(Num) },
      fallback(Num)
    ),
    fields({ type: lit("boolean"), ...described, default: opt(Bool) }),
    fields(
      { type: lit("string"), ...described, enum: list(Str) },
      before("2026-07-28", { enumNames: opt(list(Str)) }),
      fallback(Str)
    ),
    november && fields({ type: lit("string"), ...described, oneOf: choices, default: opt(Str) }),
    november &&
      fields({
        type: lit("array"),
        ...described,
        ...bounds,
        items: S({ type: lit("string"), enum: list(Str) }),
        default: opt(list(Str))
      }),
    november &&
      fields({ type: lit("array"), ...described, ...bounds, items: S({ anyOf: choices }), default: opt(list(Str)) })
  )
  const requestedSchema = fields(
    { type: lit("object"), properties: record(property), required: opt(list(Str)) },
    since("2025-11-25", { $schema: opt(Str) })
  )
  const elicit = choose(
    fields(questions, { message: Str, requestedSchema }, since("2025-11-25", { mode: opt(lit("form")) })),
    november &&
      fields(questions, { mode: lit("url"), message: Str, url: Str }, before("2026-07-28", { elicitationId: Str }))
  )
  const value = choose(Str, Num, Bool, november && list(Str))
  const elicited = fields(meta, {
    action: one([lit("accept"), lit("decline"), lit("cancel")]),
    content: opt(record(value))
  })

  const reference = choose(
    fields({ type: lit("ref/prompt") }, ...named),
    fields({ type: lit("ref/resource"), uri: Str })
  )
  const complete = fields(
    asks,
    { ref: reference, argument: S({ name: Str, value: Str }) },
    since("2025-06-18", { context: opt(S({ arguments: opt(record(Str)) })) })
  )
  const completed = fields(...answers, { completion: S({ values: list(Str), total: opt(Num), hasMore: opt(Bool) }) })

  const optional = (params: Wire) => one([params, Schema.Undefined])
  const sent = (params: Wire) => (july ? params : optional(params))
  const empty = fields(meta)
  const ping: Call = { params: optional(fields(asks)), result: empty }
  const paged = (name: string, items: Wire): Call => ({
    params: sent(fields(asks, { cursor: opt(Str) })),
    result: fields(...answers, cached, { nextCursor: opt(Str), [name]: list(items) })
  })
  const about = fields(asks, { uri: Str })
  const bare = optional(fields(meta))
  const id = one([Str, Schema.Int])
  const cancelled = fields(meta, { requestId: november && !july ? opt(id) : id, reason: opt(Str) })
  const progress = fields(
    meta,
    { progressToken: token, progress: Num, total: opt(Num) },
    since("2025-03-26", { message: opt(Str) })
  )

  const filter = S({
    toolsListChanged: opt(Bool),
    promptsListChanged: opt(Bool),
    resourcesListChanged: opt(Bool),
    resourceSubscriptions: opt(list(Str))
  })
  const inputRequest = choose(
    S({ method: lit("elicitation/create"), params: elicit }),
    S({ method: lit("sampling/createMessage"), params: createMessage }),
    S({ method: lit("roots/list"), params: opt(fields(questions)) })
  )
  const asking = [resultMeta, { resultType: lit("input_required") }]

  return {
    around: {
      declaration,
      inputRequired: choose(
        fields(...asking, { inputRequests: record(inputRequest), requestState: opt(Str) }),
        fields(...asking, { requestState: Str })
      )
    },
    clientRequests: {
      ...(july
        ? {
            "server/discover": {
              params: fields(asks),
              result: fields(...answers, cached, {
                supportedVersions: list(Str),
                capabilities: serverCapabilities,
                instructions: opt(Str)
              })
            },
            "subscriptions/listen": {
              params: fields(asks, { notifications: filter }),
              result: S({
                _meta: Schema.StructWithRest(S({ "io.modelcontextprotocol/subscriptionId": id }), [obj]),
                resultType: lit("complete")
              })
            }
          }
        : {
            initialize: {
              params: fields(asks, {
                protocolVersion: Str,
                capabilities: clientCapabilities,
                clientInfo: implementation
              }),
              result: fields(meta, {
                protocolVersion: Str,
                capabilities: serverCapabilities,
                serverInfo: implementation,
                instructions: opt(Str)
              })
            },
            ping,
            "logging/setLevel": { params: fields(asks, { level }), result: empty },
            "resources/subscribe": { params: about, result: empty },
            "resources/unsubscribe": { params: about, result: empty }
          }),
      "completion/complete": { params: complete, result: completed },
      "prompts/get": {
        params: fields(asks, retry, { name: Str, arguments: opt(record(Str)) }),
        result: fields(...answers, { description: opt(Str), messages: list(S({ role, content: block })) })
      },
      "prompts/list": paged("prompts", prompt),
      "resources/list": paged("resources", fields(...resource)),
      "resources/templates/list": paged("resourceTemplates", fields({ uriTemplate: Str }, ...resourceFields)),
      "resources/read": {
        params: fields(asks, retry, { uri: Str }),
        result: fields(...answers, cached, { contents: list(contents) })
      },
      "tools/call": { params: fields(asks, retry, { name: Str, arguments: opt(obj) }), result: called },
      "tools/list": paged("tools", tool)
    },
    serverRequests: {
      ...(july ? {} : { ping }),
      "roots/list": {
        params: optional(fields(questions)),
        result: fields(meta, { roots: list(fields({ uri: Str, name: opt(Str) }, newMeta)) })
      },
      "sampling/createMessage": {
        params: createMessage,
        result: fields(meta, ...message, { model: Str, stopReason: opt(Str) })
      },
      ...(june ? { "elicitation/create": { params: elicit, result: elicited } } : {})
    },
    clientNotifications: {
      "notifications/cancelled": cancelled,
      ...(july
        ? {}
        : {
            "notifications/progress": progress,
            "notifications/initialized": bare,
            "notifications/roots/list_changed": bare
          })
    },
    serverNotifications: {
      "notifications/cancelled": cancelled,
      "notifications/progress": progress,
      "notifications/message": fields(meta, { level, logger: opt(Str), data: Json }),
      "notifications/resources/updated": fields(meta, { uri: Str }),
      "notifications/resources/list_changed": bare,
      "notifications/tools/list_changed": bare,
      "notifications/prompts/list_changed": bare,
      ...(july ? { "notifications/subscriptions/acknowledged": fields(meta, { notifications: filter }) } : {}),
      ...(november && !july ? { "notifications/elicitation/complete": fields(meta, { elicitationId: Str }) } : {})
    }
  }
}

/**
 * Questions of a running handler to its client. `Elicitation`, `Sampling` and `Roots` are built on it.
 *
 * An interpreter decides how a question travels: `remote` asks over the open connection and waits; replay is `mrtr/` of the server. Whether
 * the client can be asked (capability, revision) is checked here.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { InvalidValue } from "../contract/ValueCodec.ts"
import { canonicalJson, digest } from "../internal/digest.ts"
import { type Closed, type Peer, type ReceivedRequest, type RequestError, Timeout } from "../peer/Peer.ts"
import type * as AskedTask from "./AskedTask.ts"

/** The methods of MCP by which a server asks its client. */
export type QuestionMethod = Exclude<keyof Method.ServerRequests, "ping">

/** The client did not declare what the question needs, or its revision has no such question. Nothing was sent. */
export class CapabilityMissing extends Data.TaggedError("CapabilityMissing")<{
  /** The missing declaration, dotted: `sampling.tools`; that of an extension is its id. */
  readonly capability: string
  readonly message: string
  /** The missing declaration as a client writes it. Default: that of `capability`. */
  readonly declaration?: ClientCapabilities | undefined
}> {
  static readonly of = (capability: string, declaration?: ClientCapabilities): CapabilityMissing =>
    new CapabilityMissing({
      capability,
      message: `The client cannot be asked this: it did not declare ${capability}`,
      declaration
    })
}

/** The declaration of a capability: `sampling.tools` is `{ sampling: { tools: {} } }`. */
const declarationOf = (capability: string): ClientCapabilities =>
  capability.split(".").reduceRight<{ readonly [name: string]: object }>((inner, name) => ({ [name]: inner }), {})

/** The error of an uncaught `CapabilityMissing` where that is a protocol error (-32021, 2026-07-28 on). */
export const missingCapabilityError = ({ capability, declaration }: CapabilityMissing): McpError.McpError =>
  McpError.missingClientCapability(declaration ?? declarationOf(capability))

/** The user declined the question, or dismissed it. */
export class Declined extends Data.TaggedError("Declined")<{
  readonly action: "decline" | "cancel"
  readonly message: string
}> {}

/** How a question fails, beside an error that the client sent. */
export type AskError = CapabilityMissing | Closed | Declined | Timeout

/** Options of one question. */
export interface AskOptions {
  /** Names the question where requests are replayed: needed for two identical ones at once. Elsewhere it has no effect. */
  readonly key?: string | undefined
  /**
   * Called for each progress event of the client, in the reader: it must not block. Never called in 2026-07-28, where questions travel in
   * results.
   */
  readonly onProgress?: ((event: ProgressParams) => void) | undefined
  /** How long the client may take to answer. Default: as the server says. It has no effect where questions travel in results. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Asks as a task, where the client runs such questions as tasks (2025-11-25): the server reads the task until the answer is there, so
   * that no request waits for the user. `ttl`: how long the client should keep it; default: as the client likes. Elsewhere it has no effect.
   */
  readonly task?: { readonly ttl?: Duration.Input | undefined } | undefined
}

/** A question of an extension, encoded: the client has declared what it needs. */
export interface OwnQuestion<A> {
  readonly method: string
  readonly params: JsonRpc.Params
  readonly decode: (answer: unknown) => Effect.Effect<A, InvalidValue>
}

/** What a replayed request has recorded so far, on the wire: answers by `questionKey` and its count, and values of `Once` steps by name. */
export interface Recorded {
  readonly answers: { readonly [key: string]: unknown }
  readonly steps: { readonly [name: string]: unknown }
}

/**
 * The key of a question and its answer where requests are replayed. The params are part of it: a changed question never gets the answer to
 * what it was before. `count`: how often it was asked before, undefined where all that ask it get one answer.
 */
export const questionKey = (
  method: string,
  params: unknown,
  given: string | undefined,
  count: (text: string) => number | undefined
): { readonly text: string; readonly key: string } => {
  const text = `${given ?? method}:${digest(`${method} ${canonicalJson(params)}`)}`
  const n = count(text)
  return { text, key: n === undefined ? text : `${text}#${n}` }
}

/** Runs a step in a transaction of a database, and records its value in the same one. */
export type OnceInTransaction = <A, E, R>(
  name: string,
  schema: Schema.Codec<A, unknown>,
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | SqlError, R>

/** What the handler of a task has beside questions and steps. */
export interface TaskInput {
  /** The id of the task: the same in every attempt to run it. */
  readonly id: string
  /** Sleeps once: a later attempt sleeps what is left. `millis` is the whole duration. */
  readonly sleep: (name: string, millis: number) => Effect.Effect<void>
  /** Undefined where the task is recorded elsewhere than in the database of the client. */
  readonly transaction: (sql: SqlClient) => OnceInTransaction | undefined
}

/** The client of the running request. */
export class ClientInput extends Context.Service<
  ClientInput,
  {
    /** Params and answer are canonical; the interpreter encodes them for the client's revision. */
    readonly ask: <M extends QuestionMethod>(
      method: M,
      params: Method.ServerRequests[M]["params"],
      options?: AskOptions
    ) => Effect.Effect<Method.ServerRequests[M]["result"], AskError | McpError.McpError>
    /** Asks a question of an extension; see `Extensions.ask`. */
    readonly askOwn: <A>(
      question: OwnQuestion<A>,
      options?: AskOptions
    ) => Effect.Effect<A, AskError | McpError.McpError>
    /** Runs `effect` at most once per request; a later round of the same request gets the recorded value. */
    readonly once: <A, E, R>(
      name: string,
      schema: Schema.Codec<A, unknown>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /** For code that continues a replayed request elsewhere; absent where requests are not replayed. */
    readonly recorded?: (() => Recorded) | undefined
    /** What a task has beside; absent in a request that is answered by its handler. */
    readonly task?: TaskInput | undefined
  }
>()("@effect-mcp/core/ClientInput") {}

/** What decides which questions a client can answer. */
export interface ClientDeclaration {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
}

/** The modes of elicitation that a client can answer. `elicitation: {}` means forms only. */
export const elicitationModes = ({ revision, capabilities: { elicitation } }: ClientDeclaration) => ({
  form:
    revision.rules.elicitation.form &&
    elicitation !== undefined &&
    (elicitation.form !== undefined || elicitation.url === undefined),
  url: revision.rules.elicitation.url && elicitation?.url !== undefined
})

/** Whether requests to a client's model may have tools, and include context of servers. */
export const samplingCapabilities = ({ revision, capabilities: { sampling } }: ClientDeclaration) => ({
  tools: revision.rules.samplingTools && sampling?.tools !== undefined,
  context: sampling !== undefined && (!revision.rules.samplingContextDeclared || sampling.context !== undefined)
})

/** The declaration that a question needs and the client lacks, dotted; undefined when the client can be asked. */
export const missingCapability = <M extends QuestionMethod>(
  method: M,
  params: Method.ServerRequests[M]["params"],
  asked: ClientDeclaration
): string | undefined => {
  const { capabilities } = asked
  if (method === "roots/list") return capabilities.roots === undefined ? "roots" : undefined
  const fields: { readonly [field: string]: unknown } = { ...params }
  if (method === "elicitation/create") {
    const mode = fields.mode === "url" ? "url" : "form"
    return elicitationModes(asked)[mode] ? undefined : `elicitation.${mode}`
  }
  if (capabilities.sampling === undefined) return "sampling"
  const can = samplingCapabilities(asked)
  if ((fields.tools !== undefined || fields.toolChoice !== undefined) && !can.tools) return "sampling.tools"
  const wantsContext = fields.includeContext === "thisServer" || fields.includeContext === "allServers"
  return wantsContext && !can.context ? "sampling.context" : undefined
}

/** Refuses every question by `CapabilityMissing` with this message. */
export const unavailable = (message: string): ClientInput["Service"] => ({
  once: (_name, _schema, effect) => effect,
  ask: (method) => Effect.fail(new CapabilityMissing({ capability: method, message })),
  askOwn: ({ method }) => Effect.fail(new CapabilityMissing({ capability: method, message }))
})

/** What `remote` asks through. */
export interface RemoteOptions extends ClientDeclaration {
  readonly peer: Peer
  /** The request whose handler asks; undefined for a question that relates to none. */
  readonly relatedTo: Pick<ReceivedRequest, "asked" | "request"> | undefined
  /** How long the client, and its user, may take to answer. */
  readonly timeout: Duration.Input
  /** Completes when the client may be asked: it has sent `notifications/initialized`. */
  readonly ready: Effect.Effect<void>
  /** Asks as a task; few servers do, so that it is loaded by then. */
  readonly askAsTask: (question: AskedTask.TaskQuestion) => Effect.Effect<unknown, RequestError>
}

/** Asks over the open connection and waits; the question leaves on the stream of its request. */
export const remote = (options: RemoteOptions): ClientInput["Service"] => ({
  once: (_name, _schema, effect) => effect,
  ask: <M extends QuestionMethod>(method: M, params: Method.ServerRequests[M]["params"], asking?: AskOptions) =>
    Effect.suspend(() => {
      const missing = missingCapability(method, params, options)
      const codec = options.revision.serverRequests[method]
      if (missing !== undefined || codec === undefined) {
        return Effect.fail(CapabilityMissing.of(missing ?? method))
      }
      const { params: outgoing, result } = Codecs.coders(codec)
      return outgoing.encode(params).pipe(
        Effect.mapError((message) => new CapabilityMissing({ capability: method, message })),
        Effect.flatMap((wire) => sent(options, method, toParams(wire), asking)),
        Effect.flatMap((answer) => Effect.mapError(result.decode(answer), (message) => malformed(method, message)))
      )
    }),
  askOwn: ({ decode, method, params }, asking) =>
    Effect.flatMap(sent(options, method, params, asking), (answer) =>
      Effect.mapError(decode(answer), ({ message }) => malformed(method, message))
    )
})

const malformed = (method: string, message: string): McpError.McpError =>
  McpError.internalError(`The client's answer to ${method} is malformed: ${message}`)

/** The answer on the wire. */
const sent = (
  { askAsTask, capabilities, peer, ready, relatedTo, revision, timeout }: RemoteOptions,
  method: string,
  params: JsonRpc.Params | undefined,
  asking: AskOptions | undefined
): Effect.Effect<unknown, AskError | McpError.McpError> =>
  Effect.timeoutOrElse(ready, {
    duration: timeout,
    orElse: () => Effect.fail(new Timeout({ method, message: "The client did not say that it is initialized" }))
  }).pipe(
    Effect.flatMap(() => {
      if (relatedTo !== undefined) relatedTo.asked = (relatedTo.asked ?? 0) + 1
      const options = {
        relatedTo: relatedTo?.request.id,
        timeout: asking?.timeout ?? timeout,
        onProgress: asking?.onProgress
      }
      const { task } = asking ?? {}
      return task === undefined || !revision.rules.tasks || !MethodInfo.runsAsTask(method, capabilities.tasks)
        ? peer.request(method, params, options)
        : askAsTask({ peer, method, params, task, options, capabilities })
    }),
    // A refusal is a failure that handlers expect, not a protocol error.
    Effect.catchIf(isRejection, ({ message }) => Effect.fail(new Declined({ action: "decline", message })))
  )

const isRejection = (error: unknown): error is McpError.McpError =>
  error instanceof McpError.McpError && error.code === McpError.UserRejected

const toParams = (wire: unknown): JsonRpc.Params | undefined => (isJsonObject(wire) ? wire : undefined)

/**
 * Questions of a running handler to its client. `Elicitation`, `Sampling` and `Roots` are built on it.
 *
 * An interpreter decides how a question travels: `RemoteInput` asks over the open connection and waits; replay is `mrtr/` of the server.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { InvalidValue } from "../contract/ValueCodec.ts"
import type { Closed, Timeout } from "../peer/Peer.ts"
import type { OnProgress } from "./Progress.ts"

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
  readonly onProgress?: OnProgress | undefined
  /** How long the client may take to answer. Default: as the server says. It has no effect where questions travel in results. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Asks as a task, where the client runs such questions as tasks (2025-11-25): the server reads the task until the answer is there, so
   * that no request waits for the user. `ttl`: how long the client should keep it; default: as the client likes. Elsewhere it has no effect.
   */
  readonly task?: { readonly ttl?: Duration.Input | undefined } | undefined
}

/** A question of an extension, encoded: the client has declared what it needs. */
export interface ExtensionQuestion<A> {
  /** The id of its extension; undefined where the question is relayed, and its extension unknown. */
  readonly extension?: string | undefined
  readonly method: string
  readonly params: JsonRpc.Params
  readonly decode: (answer: unknown) => Effect.Effect<A, InvalidValue>
}

/** What a replayed request has recorded so far, on the wire: answers by the key of their question and its count, and values of `Once` steps by name. */
export interface Recorded {
  readonly answers: { readonly [key: string]: unknown }
  readonly steps: { readonly [name: string]: unknown }
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
    readonly askExtension: <A>(
      question: ExtensionQuestion<A>,
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

/** Refuses every question by `CapabilityMissing` with this message. */
export const unavailable = (message: string): ClientInput["Service"] => ({
  once: (_name, _schema, effect) => effect,
  ask: (method) => Effect.fail(new CapabilityMissing({ capability: method, message })),
  askExtension: ({ method }) => Effect.fail(new CapabilityMissing({ capability: method, message }))
})

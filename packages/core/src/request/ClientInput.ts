/**
 * Lets a handler ask its client questions while it runs. `Elicitation`, `Sampling` and `Roots` are built on it.
 *
 * The implementation decides how a question reaches the client. `RemoteInput` asks over the open connection and waits for the response; the
 * server's `mrtr/` modules replay the request instead.
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

/** MCP methods a server uses to ask its client questions. */
export type QuestionMethod = Exclude<keyof Method.ServerRequests, "ping">

/** The client didn't declare the capability that the question needs, or its revision has no such question. Nothing was sent. */
export class CapabilityMissing extends Data.TaggedError("CapabilityMissing")<{
  /** Dotted path of the missing capability, such as `sampling.tools`. For an extension, the extension ID. */
  readonly capability: string
  readonly message: string
  /** The missing capability, as a client would declare it. Default: derived from `capability`. */
  readonly declaration?: ClientCapabilities | undefined
}> {
  static readonly of = (capability: string, declaration?: ClientCapabilities): CapabilityMissing =>
    new CapabilityMissing({
      capability,
      message: `The client does not support ${capability}`,
      declaration
    })
}

/** Expands a dotted capability: `sampling.tools` becomes `{ sampling: { tools: {} } }`. */
const declarationOf = (capability: string): ClientCapabilities =>
  capability.split(".").reduceRight<{ readonly [name: string]: object }>((inner, name) => ({ [name]: inner }), {})

/** Returns the protocol error for an uncaught `CapabilityMissing`, for revisions that have one (-32021, since 2026-07-28). */
export const missingCapabilityError = ({ capability, declaration }: CapabilityMissing): McpError.McpError =>
  McpError.missingClientCapability(declaration ?? declarationOf(capability))

/** The user declined or dismissed the question. */
export class Declined extends Data.TaggedError("Declined")<{
  readonly action: "decline" | "cancel"
  readonly message: string
}> {}

/** Errors a question may fail with, apart from errors the client sends. */
export type AskError = CapabilityMissing | Closed | Declined | Timeout

/** Options for one question. */
export interface AskOptions {
  /** Distinguishes two identical questions that are open at the same time, if requests are replayed. Ignored otherwise. */
  readonly key?: string | undefined
  /**
   * Called with each progress event from the client. It runs while messages are being read, so it must not block. Never called in
   * 2026-07-28, where questions are sent in results.
   */
  readonly onProgress?: OnProgress | undefined
  /** How long to wait for the client's answer. Default: the server's setting. Ignored if questions are sent in results. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Asks the question as a task if the client supports it (2025-11-25). The server then polls the task, so no request stays open while the
   * user decides. `ttl` is how long the client should keep the task; by default, the client decides. Ignored if the client doesn't support
   * it.
   */
  readonly task?: { readonly ttl?: Duration.Input | undefined } | undefined
}

/** An encoded question that belongs to an extension the client declared. */
export interface ExtensionQuestion<A> {
  /** Extension ID, or `undefined` if the question is relayed and its extension is unknown. */
  readonly extension?: string | undefined
  readonly method: string
  readonly params: JsonRpc.Params
  readonly decode: (answer: unknown) => Effect.Effect<A, InvalidValue>
}

/** Everything recorded for a replayed request, in wire form: answers by question key and count, and the values of `Once` steps by name. */
export interface Recorded {
  readonly answers: { readonly [key: string]: unknown }
  readonly steps: { readonly [name: string]: unknown }
}

/** Runs a step in a database transaction and records its value in the same transaction. */
export type OnceInTransaction = <A, E, R>(
  name: string,
  schema: Schema.Codec<A, unknown>,
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | SqlError, R>

/** Operations only available to task handlers, in addition to questions and steps. */
export interface TaskInput {
  /** Task ID. It is the same every time the task is resumed. */
  readonly id: string
  /** Sleeps once: if the task is resumed, only the remaining time is slept. `millis` is the full duration. */
  readonly sleep: (name: string, millis: number) => Effect.Effect<void>
  /** Returns `undefined` if the task isn't recorded in this client's database. */
  readonly transaction: (sql: SqlClient) => OnceInTransaction | undefined
}

/** The client that sent the current request. */
export class ClientInput extends Context.Service<
  ClientInput,
  {
    /** Asks a question. Params and result are canonical values; the implementation encodes them for the client's revision. */
    readonly ask: <M extends QuestionMethod>(
      method: M,
      params: Method.ServerRequests[M]["params"],
      options?: AskOptions
    ) => Effect.Effect<Method.ServerRequests[M]["result"], AskError | McpError.McpError>
    /** Asks an extension's question; see `Extensions.ask`. */
    readonly askExtension: <A>(
      question: ExtensionQuestion<A>,
      options?: AskOptions
    ) => Effect.Effect<A, AskError | McpError.McpError>
    /**
     * Runs `effect` at most once per request. Later rounds of the same request receive the recorded value. Using a name twice in a handler is a
     * defect.
     */
    readonly once: <A, E, R>(
      name: string,
      schema: Schema.Codec<A, unknown>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /**
     * Returns the recorded answers and values, for code that continues a replayed request elsewhere. Absent if requests aren't replayed.
     */
    readonly recorded?: (() => Recorded) | undefined
    /** Task operations. Absent unless the handler runs as a task. */
    readonly task?: TaskInput | undefined
  }
>()("@effect-mcp/core/ClientInput") {}

/** The parts of a client's declaration that determine which questions it can answer. */
export interface ClientDeclaration {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
}

/** Returns the elicitation modes a client supports. `elicitation: {}` means forms only. */
export const elicitationModes = ({ revision, capabilities: { elicitation } }: ClientDeclaration) => ({
  form:
    revision.rules.elicitation.form &&
    elicitation !== undefined &&
    (elicitation.form !== undefined || elicitation.url === undefined),
  url: revision.rules.elicitation.url && elicitation?.url !== undefined
})

/** Returns whether sampling requests to the client may use tools and include context from servers. */
export const samplingCapabilities = ({ revision, capabilities: { sampling } }: ClientDeclaration) => ({
  tools: revision.rules.samplingTools && sampling?.tools !== undefined,
  context: sampling !== undefined && (!revision.rules.samplingContextDeclared || sampling.context !== undefined)
})

/** Returns the defect of a handler that uses a step name twice, which is the same in every revision. */
export const duplicateStep = (name: string): Error =>
  new Error(
    `Duplicate step name ${JSON.stringify(name)}: each Once.run, Once.sleep and Once.transaction of a handler needs a unique name. In a loop, add the index to the name`
  )

/**
 * Creates the `once` of a request that is never replayed. It records nothing, but a name that is used twice is a defect, as in a replayed
 * request, so that tests in any revision find it.
 */
export const unrecordedOnce = (): ClientInput["Service"]["once"] => {
  let used: Set<string> | undefined
  return (name, _schema, effect) =>
    Effect.suspend(() => {
      const names = (used ??= new Set())
      if (names.has(name)) return Effect.die(duplicateStep(name))
      names.add(name)
      // A failed step may be tried again under its name.
      return Effect.onError(effect, () => Effect.sync(() => names.delete(name)))
    })
}

/** Creates a `ClientInput` that fails every question with `CapabilityMissing` and this message. */
export const unavailable = (message: string): ClientInput["Service"] => ({
  once: (_name, _schema, effect) => effect,
  ask: (method) => Effect.fail(new CapabilityMissing({ capability: method, message })),
  askExtension: ({ method }) => Effect.fail(new CapabilityMissing({ capability: method, message }))
})

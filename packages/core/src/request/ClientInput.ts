/**
 * The one door from a running handler back to its client. `Elicitation`, `Sampling` and `Roots` are built on it.
 *
 * An interpreter decides how a question travels: `remote` asks over the open connection and waits; replay and durable ones live
 * beside the eras they belong to. What a question may be (capability, revision) is checked here, before any interpreter sees it.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { type Closed, type Peer, Timeout } from "../peer/Peer.ts"

/** What a server may ask a client inside a request. */
export type Question = "elicitation/create" | "roots/list" | "sampling/createMessage"

/** The client did not declare what the question needs, or its revision has no such question. Never a wire message. */
export class CapabilityMissing extends Data.TaggedError("CapabilityMissing")<{
  /** The declaration that would be needed, dotted: `sampling.tools`. */
  readonly capability: string
  readonly message: string
}> {
  static readonly of = (capability: string): CapabilityMissing =>
    new CapabilityMissing({
      capability,
      message: `The client cannot be asked this: it did not declare ${capability}`
    })
}

/** What a declaration would look like: `sampling.tools` is `{ sampling: { tools: {} } }`. */
const declarationOf = (capability: string): ClientCapabilities =>
  capability.split(".").reduceRight<{ readonly [name: string]: object }>((inner, name) => ({ [name]: inner }), {})

/** What an uncaught `CapabilityMissing` answers where a missing declaration is a protocol error (-32021, 2026-07-28 on). */
export const missingCapabilityError = ({ capability }: CapabilityMissing): McpError.McpError =>
  McpError.missingClientCapability(declarationOf(capability))

/** The user said no, or dismissed the question. */
export class Declined extends Data.TaggedError("Declined")<{
  readonly action: "decline" | "cancel"
  readonly message: string
}> {}

/** Everything that asking can end with, beside an answer and an error that the client sent. */
export type AskError = CapabilityMissing | Closed | Declined | Timeout

export interface AskOptions {
  /** Names the question where requests are replayed: needed when two identical ones are open at once. Elsewhere it has no effect. */
  readonly key?: string | undefined
  /**
   * Called for each progress event of the client, in the reader: it must not block. Where questions travel in results (2026-07-28) there
   * is none.
   */
  readonly onProgress?: ((event: ProgressParams) => void) | undefined
}

export class ClientInput extends Context.Service<
  ClientInput,
  {
    /** Params and answer are canonical; the interpreter encodes them for the client's revision. */
    readonly ask: <M extends Question>(
      method: M,
      params: Method.ServerRequests[M]["params"],
      options?: AskOptions
    ) => Effect.Effect<Method.ServerRequests[M]["result"], AskError | McpError.McpError>
    /** Runs `effect` at most once per logical request; a later round of the same request sees the recorded value. */
    readonly once: <A, E, R>(
      name: string,
      schema: Schema.Codec<A, unknown>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
  }
>()("@effect-mcp/core/ClientInput") {}

/** What a peer's revision and declarations allow it to be asked. */
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

/** What a client's model can do beside plain text. */
export const samplingCapabilities = ({ revision, capabilities: { sampling } }: ClientDeclaration) => ({
  tools: revision.rules.samplingTools && sampling?.tools !== undefined,
  context: sampling !== undefined && (!revision.rules.samplingContextDeclared || sampling.context !== undefined)
})

/** The declaration that a question needs and the client lacks, dotted; nothing when it may be asked. */
export const missingCapability = <M extends Question>(
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

/** Refuses every question by `CapabilityMissing` with this message: where an answer could not reach the request that asks. */
export const unavailable = (message: string): ClientInput["Service"] => ({
  once: (_name, _schema, effect) => effect,
  ask: (method) => Effect.fail(new CapabilityMissing({ capability: method, message }))
})

/** Asks over the open connection and waits; the question travels with the request that caused it. */
export const remote = (
  options: ClientDeclaration & {
    readonly peer: Peer
    /** The request that asks; undefined for what belongs to none. */
    readonly relatedTo: JsonRpc.Id | undefined
    /** How long the client (a person, often) has to answer. */
    readonly timeout: Duration.Input
    /** When the client may be asked anything at all: not before it said that it is initialized. */
    readonly ready: Effect.Effect<void>
  }
): ClientInput["Service"] => ({
  once: (_name, _schema, effect) => effect,
  ask: <M extends Question>(method: M, params: Method.ServerRequests[M]["params"], asking?: AskOptions) =>
    Effect.suspend(() => {
      const { peer, ready, relatedTo, revision, timeout } = options
      const missing = missingCapability(method, params, options)
      const codec = revision.clientRequests[method]
      if (missing !== undefined || codec === undefined) {
        return Effect.fail(CapabilityMissing.of(missing ?? method))
      }
      const { params: outgoing, result } = Codecs.coders(codec)
      return outgoing.encode(params).pipe(
        Effect.mapError((message) => new CapabilityMissing({ capability: method, message })),
        Effect.tap(() =>
          Effect.timeoutOrElse(ready, {
            duration: timeout,
            orElse: () => Effect.fail(new Timeout({ method, message: "The client did not say that it is initialized" }))
          })
        ),
        Effect.flatMap((wire) =>
          peer.request(method, toParams(wire), { relatedTo, timeout, onProgress: asking?.onProgress })
        ),
        // A refusal is an answer that a handler may expect, not a mishap of the protocol.
        Effect.catchIf(isRejection, ({ message }) => Effect.fail(new Declined({ action: "decline", message }))),
        Effect.flatMap((answer) =>
          Effect.mapError(result.decode(answer), (message) =>
            McpError.internalError(`The client's answer to ${method} is malformed: ${message}`)
          )
        )
      )
    })
})

const isRejection = (error: unknown): error is McpError.McpError =>
  error instanceof McpError.McpError && error.code === McpError.UserRejected

const toParams = (wire: unknown): JsonRpc.Params | undefined => (isJsonObject(wire) ? wire : undefined)

/**
 * Asks the client over a session's open connection and waits for the response. Loaded with the first question, because most handlers don't
 * ask any.
 */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Peer, type ReceivedRequest, Timeout } from "../peer/Peer.ts"
import * as AskedTask from "./AskedTask.ts"
import {
  type AskError,
  type AskOptions,
  CapabilityMissing,
  type ClientDeclaration,
  type ClientInput,
  Declined,
  type QuestionMethod,
  unrecordedOnce
} from "./ClientInput.ts"
import { missingCapability } from "./question.ts"

/** Options for `remote`. */
interface RemoteOptions extends ClientDeclaration {
  readonly peer: Peer
  /** The request whose handler asks, or `undefined` for a question that isn't related to a request. */
  readonly relatedTo: Pick<ReceivedRequest, "asked" | "request"> | undefined
  /** How long the client and its user may take to answer. */
  readonly timeout: Duration.Input
  /** Completes when the client accepts questions, because it has sent `notifications/initialized`. */
  readonly ready: Effect.Effect<void>
}

/** Asks over the open connection and waits for the response. The question is sent on its request's stream. */
export const remote = (options: RemoteOptions): ClientInput["Service"] => ({
  // Without a request, the same object serves many handlers.
  once: options.relatedTo === undefined ? (_name, _schema, effect) => effect : unrecordedOnce(),
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
  askExtension: ({ decode, method, params }, asking) =>
    Effect.flatMap(sent(options, method, params, asking), (answer) =>
      Effect.mapError(decode(answer), ({ message }) => malformed(method, message))
    )
})

const malformed = (method: string, message: string): McpError.McpError =>
  McpError.internalError(`Invalid response from the client to ${method}: ${message}`)

/** Returns the result in wire form. */
const sent = (
  { capabilities, peer, ready, relatedTo, revision, timeout }: RemoteOptions,
  method: string,
  params: JsonRpc.Params | undefined,
  asking: AskOptions | undefined
): Effect.Effect<unknown, AskError | McpError.McpError> =>
  Effect.timeoutOrElse(ready, {
    duration: timeout,
    orElse: () => Effect.fail(new Timeout({ method, message: "The client has not sent notifications/initialized" }))
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
        : AskedTask.ask({ peer, method, params, task, options, capabilities })
    }),
    // A rejection is a failure handlers expect, not a protocol error.
    Effect.catchIf(isRejection, ({ message }) => Effect.fail(new Declined({ action: "decline", message })))
  )

const isRejection = (error: unknown): error is McpError.McpError =>
  error instanceof McpError.McpError && error.code === McpError.UserRejected

const toParams = (wire: unknown): JsonRpc.Params | undefined => (isJsonObject(wire) ? wire : undefined)

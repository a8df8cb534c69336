/** What both eras do around a request: the capability that the server declared, the coders of the method, other kinds of results. */
import type { Peer } from "@effect-mcp/core/Peer"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import { CapabilityMissing, Closed, InvalidResult } from "../ClientError.ts"
import { OtherResult } from "../extension/OtherResult.ts"
import type { Negotiated } from "./Negotiation.ts"

interface Prepared<P, R> {
  readonly coders: Codecs.Coders<P, R>
  /** The error for an answer that does not decode. */
  readonly malformed: (message: string, result: unknown) => InvalidResult
}

const codersOf = <M extends keyof ClientRequests>(
  revision: Revision,
  method: M
): Codecs.Coders<ClientRequests[M]["params"], ClientRequests[M]["result"]> | undefined => {
  const codec = revision.clientRequests[method]
  return codec === undefined ? undefined : Codecs.coders(codec)
}

/** The capability that a request needs and the server did not declare; undefined where the request may be sent. */
export const missingFor = (method: string, { revision, serverCapabilities }: Negotiated): string | undefined => {
  const info = MethodInfo.ofRequest(method)
  return info && MethodInfo.missingCapability(info, serverCapabilities, revision.rules)
}

/** Fails, and nothing is sent, where the server did not declare the capability or its revision lacks the method. */
export const prepare = <M extends keyof ClientRequests>(
  negotiated: Negotiated,
  method: M
): Effect.Effect<Prepared<ClientRequests[M]["params"], ClientRequests[M]["result"]>, CapabilityMissing> => {
  const missing = missingFor(method, negotiated)
  const coders = codersOf(negotiated.revision, method)
  if (missing !== undefined || coders === undefined) {
    const capability = missing ?? method
    return Effect.fail(new CapabilityMissing({ capability, message: `The server did not declare ${capability}` }))
  }
  return Effect.succeed({
    coders,
    malformed: (message: string, result: unknown) =>
      new InvalidResult({ method, message: `The answer to ${method} is malformed: ${message}`, result })
  })
}

/** The error for params that the revision cannot encode. */
export const encodeFailed = (message: string): McpError.McpError =>
  McpError.invalidParams(`The params cannot be encoded for this server: ${message}`)

/** The final result of a request, after a handler of results gave it. */
export const decode = <M extends keyof ClientRequests>(
  negotiated: Negotiated,
  method: M,
  wire: unknown
): Effect.Effect<ClientRequests[M]["result"], CapabilityMissing | InvalidResult> =>
  Effect.flatMap(prepare(negotiated, method), ({ coders, malformed }) =>
    Effect.mapError(coders.result.decode(wire), (message) => malformed(message, wire))
  )

/** Sends a notification when the transport has room, or not at all where the conversation ends first. */
export const notify = (peer: Peer, method: string, params: JsonRpc.Params | undefined): Effect.Effect<void, Closed> => {
  const ended = Effect.matchEffect(peer.awaitClosed, {
    onFailure: (cause) => Effect.fail(new Closed({ message: cause.message, cause, unsent: true })),
    onSuccess: () => Effect.fail(new Closed({ message: "The connection is closed", unsent: true }))
  })
  return Effect.map(Effect.raceFirst(ended, peer.sink.ready), () => peer.notify(method, params))
}

/** A result that no extension may handle, such as that of a subscription. */
export const ordinary =
  (method: string) =>
  <A, E>(sent: Effect.Effect<A | OtherResult, E>): Effect.Effect<A, E | InvalidResult> =>
    Effect.flatMapEager(sent, (result) =>
      result instanceof OtherResult
        ? Effect.fail(
            new InvalidResult({
              method,
              message: `The answer to ${method} cannot be of another kind`,
              result: result.result
            })
          )
        : Effect.succeed(result)
    )

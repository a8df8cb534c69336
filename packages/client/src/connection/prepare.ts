/** Request handling shared by both eras: checks the server's capabilities, finds the method's codecs, and handles other result types. */
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
import { type Dropped, salvaged } from "./Salvage.ts"

interface Prepared<P, R> {
  readonly coders: Codecs.Coders<P, R>
  /** Decodes a result. Leaves malformed items out of a list. */
  readonly read: (wire: unknown) => Effect.Effect<R, InvalidResult>
}

const codersOf = <M extends keyof ClientRequests>(
  revision: Revision,
  method: M
): Codecs.Coders<ClientRequests[M]["params"], ClientRequests[M]["result"]> | undefined => {
  const codec = revision.clientRequests[method]
  return codec === undefined ? undefined : Codecs.coders(codec)
}

/** Returns the capability a request needs but the server did not declare, or `undefined` if the request may be sent. */
export const missingFor = (method: string, { revision, serverCapabilities }: Negotiated): string | undefined => {
  const info = MethodInfo.ofRequest(method)
  return info && MethodInfo.missingCapability(info, serverCapabilities, revision.rules)
}

/** Fails, without sending anything, if the server didn't declare the required capability or the revision lacks the method. */
export const prepare = <M extends keyof ClientRequests>(
  negotiated: Negotiated,
  method: M,
  dropped: Dropped
): Effect.Effect<Prepared<ClientRequests[M]["params"], ClientRequests[M]["result"]>, CapabilityMissing> => {
  const missing = missingFor(method, negotiated)
  const coders = codersOf(negotiated.revision, method)
  if (missing !== undefined || coders === undefined) {
    const capability = missing ?? method
    return Effect.fail(new CapabilityMissing({ capability, message: `The server does not support ${capability}` }))
  }
  const { result } = coders
  return Effect.succeed({
    coders,
    read: (wire: unknown) =>
      Effect.catchEager(result.decode(wire), (issue) =>
        Effect.mapError(
          salvaged(method, result, wire, issue, dropped),
          (message) =>
            new InvalidResult({
              method,
              message: `The server sent an invalid response to ${method}: ${message}`,
              result: wire
            })
        )
      )
  })
}

/** Returns the error for params the revision can't encode. */
export const encodeFailed = (message: string): McpError.McpError =>
  McpError.invalidParams(`The params cannot be sent in this protocol revision: ${message}`)

/** Decodes the final result of a request, as returned by a result handler. */
export const decode = <M extends keyof ClientRequests>(
  negotiated: Negotiated,
  method: M,
  wire: unknown,
  dropped: Dropped
): Effect.Effect<ClientRequests[M]["result"], CapabilityMissing | InvalidResult> =>
  Effect.flatMap(prepare(negotiated, method, dropped), ({ read }) => read(wire))

/** Sends a notification once the transport can take it. Fails if the connection closes first. */
export const notify = (peer: Peer, method: string, params: JsonRpc.Params | undefined): Effect.Effect<void, Closed> => {
  const ended = Effect.matchEffect(peer.awaitClosed, {
    onFailure: (cause) => Effect.fail(new Closed({ message: cause.message, cause, unsent: true })),
    onSuccess: () => Effect.fail(new Closed({ message: "The connection is closed", unsent: true }))
  })
  return Effect.map(Effect.raceFirst(ended, peer.sink.ready), () => peer.notify(method, params))
}

/** Accepts only results that no extension may handle, such as subscription results. */
export const ordinary =
  (method: string) =>
  <A, E>(sent: Effect.Effect<A | OtherResult, E>): Effect.Effect<A, E | InvalidResult> =>
    Effect.flatMapEager(sent, (result) =>
      result instanceof OtherResult
        ? Effect.fail(
            new InvalidResult({
              method,
              message: `The server sent an unexpected result type for ${method}`,
              result: result.result
            })
          )
        : Effect.succeed(result)
    )

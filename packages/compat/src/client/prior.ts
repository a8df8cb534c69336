/** A server whose era is known before connecting: the option `prior` of `connect`. */
import type { Client } from "@effect-mcp/client/Client"
import type * as ClientMiddleware from "@effect-mcp/client/ClientMiddleware"
import { serverInfo as serverInfoKey } from "@effect-mcp/protocol/model/Meta"
import * as Effect from "effect/Effect"
import { SdkError, SdkErrorCode } from "../model/errors.ts"
import { plain } from "../model/plain.ts"
import type { DiscoverResult, PriorDiscovery } from "../model/types.ts"

const modern = "2026-07-28"

/** Throws if it names no era, or if the server has no revision of that era. */
export const checkedPrior = (prior: PriorDiscovery | undefined): void => {
  if (prior === undefined || prior.kind === "legacy") return
  const { discover, kind }: { kind: unknown; discover?: Partial<DiscoverResult> } = prior
  if (kind === "modern" && discover?.supportedVersions?.includes(modern) === true && discover.capabilities) return
  throw new SdkError(
    SdkErrorCode.EraNegotiationFailed,
    `Invalid prior of kind ${String(kind)}: expected "legacy", or "modern" with a discover result that supports ${modern}`
  )
}

/** Returns the server's description of itself, or `undefined` in revisions with a handshake. */
export const discoverResultOf = (client: Client): DiscoverResult | undefined => {
  const { instructions, revision, serverCapabilities: capabilities, serverInfo } = client
  if (revision.era === "stateful") return undefined
  const supportedVersions = [revision.version]
  return plain({ supportedVersions, capabilities, instructions, _meta: { [serverInfoKey]: serverInfo } })
}

/** Answers the first probe from the known description, without sending anything. */
export const answeringProbe = (prior: PriorDiscovery | undefined): ClientMiddleware.Middleware => {
  let known = prior?.kind === "modern" ? prior.discover : undefined
  return {
    request: ({ method }, next) => {
      if (method !== "server/discover" || known === undefined) return next()
      const result = { ttlMs: 0, cacheScope: "private", ...known, resultType: "complete" }
      known = undefined
      return Effect.succeed(result)
    }
  }
}

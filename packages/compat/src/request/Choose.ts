/** How the actor finds the definition for a message. */
import { plain } from "../model/plain.ts"
import type { RequestInfo } from "./Context.ts"
import type { Definition } from "./Definition.ts"
import type { KnownClient } from "./KnownClient.ts"

/** The client's description of itself. Notifications do not repeat it. */
export type ClientFields = Pick<RequestInfo, "clientCapabilities" | "clientInfo"> & {
  readonly revision?: Pick<RequestInfo["revision"], "version"> | undefined
}

/** Converts it for programs. Lives here rather than with the type, because public declarations name the type and must not import Effect. */
export const knownClient = ({ clientCapabilities, clientInfo, revision }: ClientFields): KnownClient => ({
  info: plain(clientInfo ?? null) ?? undefined,
  capabilities: plain(clientCapabilities),
  version: revision?.version
})

/** Returns the definition for a message. `client` is missing for notifications. */
export type Choose = (
  message: Pick<RequestInfo, "envelope"> & {
    readonly outbound: Pick<RequestInfo["outbound"], "connection">
    readonly era: "legacy" | "modern"
    readonly client?: ClientFields | undefined
  }
) => Definition | PromiseLike<Definition>
